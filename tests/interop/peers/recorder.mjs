// A provider that records what it is sent and refuses it.

import { createServer } from "node:http";

/** `{url, sent(act)}`: `sent` gives the bodies that arrive while `act` runs. */
export async function recorder() {
  let bodies = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
      // A connection that is kept may be closed just when the next request comes.
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
