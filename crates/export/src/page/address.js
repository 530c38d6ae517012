// The address: it names the message that is read, so that it can be copied at any time.

/** Browsers refuse more than about 100 changes in half a minute. */
const ADDRESS_DELAY = 400;

let addressTimer = 0;

/** Sets the address to the chosen message, once the reader stays there. It adds nothing to the browser's history. */
function followAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const n = text.chosen;
    if (n < 0 || idInAddress() === session.ids[n]) return;
    history.replaceState(history.state, "", linkTo(n));
  }, ADDRESS_DELAY);
}

/** Returns the sign beside a prompt, whose link leads to it. */
function placeLink(n) {
  const link = make("a", "place");
  link.href = linkTo(n);
  link.dataset.to = n;
  link.setAttribute("aria-label", "Link to this prompt");
  return link;
}
