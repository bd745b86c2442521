/**
 * The shuffle that anybody can check, with WebCrypto.
 *
 * Source: the comment of rami/game/v1/replay.proto. WebCrypto exists in browsers only on pages from https and from
 * localhost, and in Node everywhere.
 */
import type { Card } from "./cards.ts";

const LABEL = new TextEncoder().encode("cardverse.rami.v1/shuffle");

export async function sha256(data: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", data as BufferSource));
}

async function hmacKey(key: Uint8Array): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", key as BufferSource, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

async function hmac(key: CryptoKey, message: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, message as BufferSource));
}

function u32be(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

function concatenated(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The deck of a round, its first card dealt first. */
export async function deckForRound(seed: Uint8Array, round: number, entropies: readonly Uint8Array[]): Promise<Card[]> {
  const brought = entropies.flatMap((entropy) => [Uint8Array.of(entropy.length), entropy]);
  const key = await hmacKey(await hmac(await hmacKey(seed), concatenated(LABEL, u32be(round), ...brought)));
  let block = new Uint8Array();
  let blocks = 0;
  let at = 0;
  const deck: Card[] = Array.from({ length: 52 }, (_, index) => index + 1);
  for (let last = 51; last > 0; last--) {
    const places = last + 1;
    const limit = 256 - (256 % places);
    let byte = 256;
    while (byte >= limit) {
      if (at === block.length) {
        block = new Uint8Array(await hmac(key, u32be(blocks++)));
        at = 0;
      }
      byte = block[at++] as number;
    }
    const other = byte % places;
    [deck[last], deck[other]] = [deck[other] as Card, deck[last] as Card];
  }
  return deck;
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
