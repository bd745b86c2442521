/** The four suits as paths in a box of 24 by 24, and where the pips of a number card lie. */
import type { Rank, Suit } from "../../client/cards.ts";

export const PIPS: Record<Suit, string> = {
  H: "M12 21.6C8.2 17.4 2 13.2 2 7.9 2 4.9 4.3 2.7 7.1 2.7c2 0 3.9 1.2 4.9 3.2 1-2 2.9-3.2 4.9-3.2 2.8 0 5.1 2.2 5.1 5.2 0 5.3-6.2 9.5-10 13.7z",
  D: "M12 1.6C14.2 5.4 17 9 20.4 12 17 15 14.2 18.6 12 22.4 9.8 18.6 7 15 3.6 12 7 9 9.8 5.4 12 1.6z",
  S: "M12 1.8c3 4.4 9.6 7.6 9.6 12.7 0 2.8-2.1 4.7-4.6 4.7-1.6 0-3-.8-3.9-2 .2 2.2 1.1 3.9 2.6 5H8.3c1.5-1.1 2.4-2.8 2.6-5-.9 1.2-2.3 2-3.9 2-2.5 0-4.6-1.9-4.6-4.7C2.4 9.4 9 6.2 12 1.8z",
  C: "M12 1.9c2.7 0 4.8 2.1 4.8 4.7 0 1.3-.5 2.5-1.3 3.3.5-.2 1.1-.3 1.7-.3 2.6 0 4.7 2.1 4.7 4.8s-2.1 4.8-4.7 4.8c-1.7 0-3.1-.8-4-2.1.2 2.1 1.1 3.8 2.6 5.1H8.2c1.5-1.3 2.4-3 2.6-5.1-.9 1.3-2.3 2.1-4 2.1-2.6 0-4.7-2.1-4.7-4.8s2.1-4.8 4.7-4.8c.6 0 1.2.1 1.7.3-.8-.8-1.3-2-1.3-3.3 0-2.6 2.1-4.7 4.8-4.7z",
};

const LEFT = 36;
const MID = 50;
const RIGHT = 64;
const TOP = 26;
const BOTTOM = 114;
const ROW = (BOTTOM - TOP) / 3;

/** Centres of the pips in a card of 1 by 140. */
export const LAYOUT: Partial<Record<Rank, readonly (readonly [number, number])[]>> = {
  2: [
    [MID, TOP],
    [MID, BOTTOM],
  ],
  3: [
    [MID, TOP],
    [MID, 70],
    [MID, BOTTOM],
  ],
  4: corners(),
  5: [...corners(), [MID, 70]],
  6: [...corners(), [LEFT, 70], [RIGHT, 70]],
  7: [...corners(), [LEFT, 70], [RIGHT, 70], [MID, 50]],
  8: [...corners(), [LEFT, 70], [RIGHT, 70], [MID, 50], [MID, 90]],
  9: [...corners(), ...inner(), [MID, 70]],
  T: [...corners(), ...inner(), [MID, TOP + ROW / 2], [MID, BOTTOM - ROW / 2]],
  A: [[MID, 70]],
};

function corners(): [number, number][] {
  return [
    [LEFT, TOP],
    [RIGHT, TOP],
    [LEFT, BOTTOM],
    [RIGHT, BOTTOM],
  ];
}

function inner(): [number, number][] {
  return [
    [LEFT, TOP + ROW],
    [RIGHT, TOP + ROW],
    [LEFT, BOTTOM - ROW],
    [RIGHT, BOTTOM - ROW],
  ];
}
