// A provider that records the requests that it receives, and refuses them.

import { createServer } from "node:http";

/** Returns `{url, sent(act)}`: `sent` returns the bodies that arrive while `act` runs. */
export async function recorder() {
  let bodies = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
      // A connection kept open might be closed just as the next request arrives.
      response.writeHead(400, { "content-type": "application/json", connection: "close" });
      response.end('{"error":{"type":"invalid_request_error","message":"recorded"}}');
    });
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  server.unref();
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async sent(act) {
      bodies = [];
      await act();
      return bodies;
    },
  };
}
