/** What an error says to a player. */
import { RamiError, type Reason, StaleVersionError, UnavailableError } from "../client/index.ts";
import type { TextKey, Texts } from "./i18n.ts";

const TEXTS: Partial<Record<Reason, TextKey>> = {
  ROOM_NOT_FOUND: "errGone",
  JOIN_CODE_NOT_FOUND: "errCode",
  JOIN_CODE_REQUIRED: "errPrivate",
  ROOM_FULL: "errFull",
  SEAT_TAKEN: "errFull",
  MATCH_ALREADY_STARTED: "errStarted",
  MATCH_NOT_STARTED: "errReplay",
  SPECTATORS_NOT_ALLOWED: "errNoWatching",
  RATE_LIMITED: "errBusy",
  LIMIT_REACHED: "errBusy",
  GUESTS_DISABLED: "errGuests",
  STORE_UNAVAILABLE: "errOffline",
  PEER_UNAVAILABLE: "errOffline",
  SHUTTING_DOWN: "errOffline",
  NOT_YOUR_TURN: "errStale",
  WRONG_PHASE: "errStale",
  CARD_NOT_IN_HAND: "errRules",
  MELD_NOT_FOUND: "errRules",
  INVALID_MELD: "errRules",
  INVALID_LAY_OFF: "errRules",
  MUST_KEEP_DISCARD: "errRules",
};

/** Our words where we have some; else the server's, where it speaks the player's language; else the bare reason. */
export function explain(texts: Texts, error: unknown): string {
  if (error instanceof StaleVersionError) return texts.t("errStale");
  if (error instanceof RamiError) {
    const key = TEXTS[error.reason];
    if (key) return texts.t(key);
    if (error.localized?.locale.startsWith(texts.locale.tag)) return error.localized.message;
    if (error instanceof UnavailableError) return texts.t("errOffline");
    return texts.t("errOther", { reason: error.reason || error.message });
  }
  return texts.t("errOther", { reason: error instanceof Error ? error.message : String(error) });
}
