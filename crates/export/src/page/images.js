// Images: in one row while they are read, and on their own as large as the window, or in their own size.

/** Puts images that follow one another into a row. */
function rowImages(body) {
  for (const figure of body.querySelectorAll("figure.image")) {
    const before = figure.previousElementSibling;
    if (before?.matches(".images")) {
      before.append(figure);
      continue;
    }
    const row = make("div", "images");
    figure.before(row);
    row.append(figure);
  }
}

/** Shows an image, unless it is still being loaded. */
function showImage(figure, value, view) {
  if (view.isFar) return view.later.push(() => showImage(figure, value, view));
  const [type, name] = value.split(" ");
  const piece = $(name);
  if (!piece || !/^image\/(png|jpeg|gif|webp|avif)$/.test(type)) {
    figure.append(make("span", "note", "An image that is still being read"));
    return;
  }
  let bytes;
  try {
    bytes = Uint8Array.from(atob(piece.textContent), (c) => c.charCodeAt(0));
  } catch {
    return figure.append(make("span", "note", "An image that cannot be decoded"));
  }
  const image = make("img");
  image.alt = `Image in ${view.title}`;
  image.src = URL.createObjectURL(new Blob([bytes], { type }));
  view.urls.push(image.src);
  image.addEventListener("load", () => view.changed());
  const enlarge = make("button", "enlarge");
  image.addEventListener("error", () => enlarge.replaceWith(make("span", "note", "An image that cannot be decoded")));
  enlarge.setAttribute("aria-haspopup", "dialog");
  enlarge.addEventListener("click", () => showLarge(image));
  enlarge.append(image);
  figure.append(enlarge);
}

/** Shows an image as large as the window. A click on it shows it in its own size, and back. */
function showLarge(image) {
  const zoom = make("button", "zoom");
  zoom.setAttribute("aria-pressed", "false");
  zoom.setAttribute("aria-label", "Original size");
  zoom.append(image.cloneNode());
  zoom.addEventListener("click", () => zoom.setAttribute("aria-pressed", $("image").classList.toggle("actual")));
  $("image").className = "";
  $("image").replaceChildren(zoom);
  $("large").showModal();
}
