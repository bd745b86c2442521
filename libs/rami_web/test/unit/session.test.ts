/** The player whom the browser remembers. */
import { Code } from "@connectrpc/connect";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { Session } from "../../src/app/session.ts";
import { RamiError } from "../../src/client/index.ts";

beforeEach(() => {
  const stored = new Map<string, string>();
  vi.stubGlobal("location", new URL("http://127.0.0.1:7000/"));
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
  return () => vi.unstubAllGlobals();
});

/** A session whose server signs in everybody but those with a name that it refuses. */
function sessionWithout(refused: string): { session: Session; names: string[] } {
  const session = new Session("en");
  const names: string[] = [];
  session.rami.signInAsGuest = async (name: string) => {
    names.push(name);
    if (name === refused) {
      throw new RamiError({
        code: Code.InvalidArgument,
        message: "display_name: must not have control characters",
        reason: "INVALID_REQUEST",
        metadata: {},
        fieldViolations: [],
        retryAfterMs: undefined,
        localized: undefined,
      });
    }
    return {
      token: "t",
      playerId: "p",
      expireTime: { seconds: BigInt(Math.floor(Date.now() / 1000) + 3600) },
    } as never;
  };
  return { session, names };
}

describe("a name", () => {
  test("is remembered once the server has taken it", async () => {
    const { session, names } = sessionWithout("");
    await session.signIn(" Ada ", "Guest");
    await session.signIn("", "Guest");
    expect(names).toEqual(["Ada"]);
    expect(session.name).toBe("Ada");
  });

  test("that the server refuses is not tried again", async () => {
    const { session, names } = sessionWithout("bad");
    await expect(session.signIn("bad", "Guest")).rejects.toThrow("control characters");
    expect(session.name).toBe("");
    await session.signIn("", "Guest");
    expect(names).toEqual(["bad", "Guest"]);
  });
});
