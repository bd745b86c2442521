import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { RamiClient } from "../src/client/index.ts";

export async function firstMatch(edge = "http://127.0.0.1:7000"): Promise<number[]> {
  const rami = new RamiClient({ transport: createGrpcWebTransport({ baseUrl: edge }) });
  await rami.signInAsGuest("Ada");
  const ticket = await rami.joinQueue({ playerCounts: [2, 3], rules: [{ targetScore: 20 }], botsAllowed: true });
  const assignment = await rami.waitForMatch(ticket.ticketId);
  if (!assignment) throw new Error("the ticket has expired");
  const table = rami.table(assignment.roomId); // follows the room, and brings entropy for the shuffles
  while (!table.over) {
    await table.until((now) => now.over || now.legalActions.length > 0);
    const [action] = table.legalActions; // it is our turn: take the first of what is legal
    if (action) await table.act(action);
  }
  await table.close();
  return table.state?.view?.scores ?? [];
}
