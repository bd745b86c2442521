/**
 * The player and what the browser remembers: the guest's token, the name, language and colours, the pace of quick
 * matches, what was promised before each match, and the latest matches. All of it stays in this browser.
 */
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import {
  type CreateGuestResponse,
  fromHex,
  type Promised,
  RamiClient,
  type RenewGuestResponse,
  toHex,
  UnauthenticatedError,
} from "../client/index.ts";
import { type Pace, paceFrom } from "./pace.ts";

export type Theme = "dark" | "light";

export interface Recent {
  roomId: string;
  at: number;
  names: string[];
}

interface Guest {
  name: string;
  token: string;
  playerId: string;
  /** Milliseconds since 1970. */
  since: number;
  expires: number;
}

const KEPT = 12;

function read<Value>(key: string): Value | undefined {
  try {
    const text = localStorage.getItem(`rami.${key}`);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined; // no storage, or what is in it was written by somebody else
  }
}

function write(key: string, value: unknown): void {
  try {
    localStorage.setItem(`rami.${key}`, JSON.stringify(value));
  } catch {
    // Without storage everything works until the page is closed.
  }
}

export class Session {
  readonly rami: RamiClient;
  private guest: Guest | undefined;
  /** A token goes to the edge that gave it and to no other, whatever `?edge=` a link may name. */
  private readonly guestKey: string;
  private signingIn: Promise<void> | undefined;

  constructor(language: string) {
    const baseUrl = new URLSearchParams(location.search).get("edge") ?? location.origin;
    this.guestKey = `guest ${new URL(baseUrl, location.href).origin}`;
    this.guest = read<Guest>(this.guestKey);
    if (this.guest && this.guest.expires < Date.now()) this.guest = undefined;
    this.rami = new RamiClient({
      transport: createGrpcWebTransport({ baseUrl }),
      language,
      ...(this.guest && { token: this.guest.token, playerId: this.guest.playerId }),
    });
  }

  /** The name that the player chose; empty for none yet. */
  get name(): string {
    return read<string>("name") ?? "";
  }

  get playerId(): string {
    return this.guest?.playerId ?? "";
  }

  /** Makes sure that there is a player, with this name if one is given; a guest who is known takes it on. */
  async signIn(name: string, fallback: string): Promise<void> {
    const chosen = name.trim().slice(0, 32) || this.name;
    await this.signingIn?.catch(() => {
      // Whoever began it is told.
    });
    const wanted = chosen || this.guest?.name || fallback;
    if (this.guest?.name !== wanted || this.ageing) {
      this.signingIn ??= this.become(wanted).finally(() => {
        this.signingIn = undefined;
      });
      await this.signingIn;
    }
    // Only now: a name that the server refuses would be tried again with everything that follows.
    if (chosen) write("name", chosen);
  }

  /** Half of the token's life is over: time for the next one, while this one still counts. */
  private get ageing(): boolean {
    const { since, expires } = this.guest ?? { since: 0, expires: 0 };
    return Date.now() > ((since ?? expires) + expires) / 2;
  }

  private async become(name: string): Promise<void> {
    const known = this.guest;
    if (!known) {
      this.keep(name, await this.rami.signInAsGuest(name));
      return;
    }
    try {
      this.keep(name, await this.rami.renewGuest(name === known.name ? "" : name));
    } catch (error) {
      if (this.forget(error)) this.keep(name, await this.rami.signInAsGuest(name));
      else if (name !== known.name) throw error;
      // Else the token at hand goes on, and the next call tries again.
    }
  }

  private keep(name: string, { token, playerId, expireTime }: CreateGuestResponse | RenewGuestResponse): void {
    this.guest = { name, token, playerId, since: Date.now(), expires: Number(expireTime?.seconds ?? 0n) * 1000 };
    write(this.guestKey, this.guest);
  }

  /** Forgets a guest whom the server does not know any more. */
  forget(error: unknown): boolean {
    if (!(error instanceof UnauthenticatedError)) return false;
    this.guest = undefined;
    write(this.guestKey, null);
    return true;
  }

  /** Works as the player who is signed in; signs in anew, once, when the server knows that one no more. */
  async asPlayer<Result>(fallback: string, work: () => Promise<Result>, name = ""): Promise<Result> {
    await this.signIn(name, fallback);
    try {
      return await work();
    } catch (error) {
      if (!this.forget(error)) throw error;
      await this.signIn(name, fallback);
      return work();
    }
  }

  get language(): string | undefined {
    return read<string>("language");
  }

  set language(tag: string) {
    write("language", tag);
    this.rami.language = tag;
  }

  get theme(): Theme | undefined {
    return read<Theme>("theme");
  }

  set theme(theme: Theme) {
    write("theme", theme);
  }

  get pace(): Pace {
    return paceFrom(read<unknown>("pace"));
  }

  set pace(pace: Pace) {
    write("pace", pace);
  }

  get recent(): Recent[] {
    return read<Recent[]>("recent") ?? [];
  }

  addRecent(entry: Recent): void {
    write("recent", [entry, ...this.recent.filter(({ roomId }) => roomId !== entry.roomId)].slice(0, KEPT));
  }

  promised(roomId: string): Promised | undefined {
    const kept = read<Record<string, { commitment: string; seat?: number; entropy?: string }>>("promised")?.[roomId];
    if (!kept) return undefined;
    const entropy =
      kept.seat !== undefined && kept.entropy ? { seat: kept.seat, bytes: fromHex(kept.entropy) } : undefined;
    return { commitment: fromHex(kept.commitment), entropy };
  }

  keepPromise(roomId: string, { commitment, entropy }: Promised): void {
    const kept = read<Record<string, object>>("promised") ?? {};
    const entry = { commitment: toHex(commitment), seat: entropy?.seat, entropy: entropy && toHex(entropy.bytes) };
    const others = Object.entries(kept).filter(([id]) => id !== roomId);
    write("promised", Object.fromEntries([...others, [roomId, entry]].slice(-KEPT)));
  }
}
