// How a number becomes a colour: cividis for weights (0 to 1), PuOr for signed values (-1 to 1).
// Both read the same with and without colour-blindness.

export type Colour = readonly [red: number, green: number, blue: number];

const CIVIDIS: readonly Colour[] = [
  [0x00, 0x22, 0x4e],
  [0x12, 0x35, 0x70],
  [0x3b, 0x49, 0x6c],
  [0x57, 0x5d, 0x6d],
  [0x70, 0x71, 0x73],
  [0x8a, 0x86, 0x78],
  [0xa5, 0x9c, 0x74],
  [0xc3, 0xb3, 0x69],
  [0xe1, 0xcc, 0x55],
  [0xfe, 0xe8, 0x38],
];

const PUOR: readonly Colour[] = [
  [0x7f, 0x3b, 0x08],
  [0xb3, 0x58, 0x06],
  [0xe0, 0x82, 0x14],
  [0xfd, 0xb8, 0x63],
  [0xfe, 0xe0, 0xb6],
  [0xf7, 0xf7, 0xf7],
  [0xd8, 0xda, 0xeb],
  [0xb2, 0xab, 0xd2],
  [0x80, 0x73, 0xac],
  [0x54, 0x27, 0x88],
  [0x2d, 0x00, 0x4b],
];

// The same two colours by night: the middle is the page's own sheet, and both ends shine.
const PUOR_BY_NIGHT: readonly Colour[] = [
  [0xff, 0xc8, 0x7a],
  [0xe0, 0x82, 0x14],
  [0x80, 0x4a, 0x14],
  [0x1b, 0x1f, 0x26],
  [0x4e, 0x3f, 0x85],
  [0x8e, 0x78, 0xd8],
  [0xcf, 0xbf, 0xff],
];

const LIGHT: Colour = [0.2126, 0.7152, 0.0722]; // shares of red, green and blue in luminance

function between(anchors: readonly Colour[], share: number): Colour {
  const place = Math.min(Math.max(share, 0), 1) * (anchors.length - 1);
  const before = Math.min(Math.floor(place), anchors.length - 2);
  const part = place - before;
  const low = anchors[before]!;
  const high = anchors[before + 1]!;
  const mixed = low.map((from, channel) => Math.round(from + (high[channel]! - from) * part));
  return mixed as unknown as Colour;
}

/** The colour of a share from 0 (navy) to 1 (yellow). */
export function cividis(share: number): Colour {
  return between(CIVIDIS, Number.isFinite(share) ? share : 0);
}

/** The colour of a signed share: orange at -1, the sheet at 0, purple at 1. Paper and files are light. */
export function puOr(signed: number, isDark = false): Colour {
  return between(isDark ? PUOR_BY_NIGHT : PUOR, Number.isFinite(signed) ? (signed + 1) / 2 : 0.5);
}

export type Palette = "weights" | "signed";

/** 256 colours as bytes for a canvas: red, green, blue, opaque. */
export function table(palette: Palette, isDark = false): Uint8ClampedArray {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let at = 0; at < 256; at++) {
    const share = at / 255;
    const colour = palette === "weights" ? cividis(share) : puOr(2 * share - 1, isDark);
    bytes.set([...colour, 255], at * 4);
  }
  return bytes;
}

/** As CSS writes it. */
export function css([red, green, blue]: Colour): string {
  return `rgb(${red} ${green} ${blue})`;
}

/** Relative luminance, as WCAG measures it. */
export function luminance(colour: Colour): number {
  return colour.reduce((total, channel, at) => {
    const share = channel / 255;
    const linear = share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    return total + linear * LIGHT[at]!;
  }, 0);
}

/** How far apart two colours stand, from 1 to 21. */
export function contrast(one: Colour, other: Colour): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

/** Black or white, whichever can be read on this colour. */
export function inkOn(colour: Colour): Colour {
  const black: Colour = [0, 0, 0];
  const white: Colour = [255, 255, 255];
  return contrast(colour, black) >= contrast(colour, white) ? black : white;
}
