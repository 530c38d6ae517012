// The tree selectors paint their rows. Only the words are compared, so both
// versions of pi get a theme that paints nothing.

const plain = (_colour, text) => text;

export const theme = {
  fg: plain,
  bg: plain,
  bold: (text) => text,
  italic: (text) => text,
  dim: (text) => text,
};
