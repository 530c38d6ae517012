// A narrow screen: the bar that hides while the reader scrolls down, and the sheet with the options.

const narrow = matchMedia("(max-width: 760px)");
/** How many pixels of scrolling hide or show the bar. */
const BAR_DISTANCE = 12;
/** The height of the bar, as in the style. */
const BAR_HEIGHT = 52;

let barTop = 0;

/** Returns how far the first article is below the top of the view: below the bar of a narrow screen. */
const startDelta = () => (narrow.matches && $("banner").hidden ? BAR_HEIGHT : 0);

/** Hides the bar while the reader scrolls down or has jumped, and shows it while scrolling up and at the beginning. */
function moveBar() {
  if (!narrow.matches) return;
  const { scrollTop } = $("text"), by = scrollTop - barTop, hasJumped = Math.abs(scrollTop - text.setTop) < 2;
  if (scrollTop > BAR_HEIGHT && Math.abs(by) < BAR_DISTANCE && !hasJumped) return;
  document.body.classList.toggle("away", scrollTop > BAR_HEIGHT && (by > 0 || hasJumped));
  barTop = scrollTop;
}

function openSheet(open) {
  document.body.classList.toggle("sheet", open);
  $("options").setAttribute("aria-expanded", open);
  if (open) $("bar").querySelector("button, select").focus();
}

/** Moves the buttons of the page into the sheet of a narrow screen, and back. */
function placeTools() {
  if (narrow.matches) $("bar").append($("tools"));
  else $("top").insertBefore($("tools"), $("options"));
  openSheet(false);
}

function listenForPhone() {
  placeTools();
  narrow.addEventListener("change", placeTools);
  $("options").addEventListener("click", () => openSheet(!document.body.classList.contains("sheet")));
  $("shade").addEventListener("click", () => openSheet(false));
  // A change that is seen behind the sheet needs no second tap, but a select stays open.
  $("leaf").addEventListener("click", () => openSheet(false));
}
