// C0 and C1 controls, and the direction marks with which a text can be shown in another order than it is read.
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
// eslint-disable-next-line no-control-regex
const CONTROLS_WITHIN_LINES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** Whatever a reader does not see or takes for a space: beside the above zero-width, filling and unassigned characters, and odd spaces. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** A text on one line, without the characters by which a tool's description could steer the terminal. */
export function plainLine(text: string): string {
  return text.replace(/\s+/g, ' ').replace(CONTROLS, '').trim();
}

/** A text with its line ends and tabs, in which no character steers the terminal: such ones are written out. */
export function plainText(text: string): string {
  return text.replace(CONTROLS_WITHIN_LINES, writtenOut);
}

/** JSON in which no character steers the terminal. It means the same. */
export function plainJson(value: unknown, indent?: number): string {
  return plainText(JSON.stringify(value, null, indent) ?? 'null');
}

/** Returns a text in which everything can be seen: what a user approves must not hide anything. */
export function seenText(text: string): string {
  return text.replace(UNSEEN, writtenOut);
}

/** As JSON writes it, so that written-out JSON still means the same. */
function writtenOut(character: string): string {
  return Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('');
}
