// What is printed by the browser's own command.

/** Completes the articles if all of the path is drawn. Otherwise a note says that only a part is printed. */
function beforePrint() {
  if (text.isPrinted) return;
  const isDrawn = text.path.length > 0 && text.first === 0 && text.last === text.path.length;
  const articles = [...text.shown.values()];
  const isComplete = isDrawn && articles.every((article) => !article.waits);
  document.body.classList.toggle("drawn", isComplete);
  if (!isComplete) return;
  for (const { view } of articles) for (const show of view.later.splice(0)) show();
}

function afterPrint() {
  document.body.classList.remove("drawn");
}

function listenForPrint() {
  addEventListener("beforeprint", beforePrint);
  addEventListener("afterprint", afterPrint);
}
