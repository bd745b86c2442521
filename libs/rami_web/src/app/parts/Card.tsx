/** A card as a picture: drawn here, with the rank letters of the language. */
import type { JSX } from "preact";
import { type Card as CardId, type Rank, rankOf, type Suit, suitOf } from "../../client/cards.ts";
import { useTexts } from "../context.ts";
import { LAYOUT, PIPS } from "./pips.ts";

interface PipProps {
  suit: Suit;
  x: number;
  y: number;
  size: number;
  turned?: boolean;
}

function Pip({ suit, x, y, size, turned }: PipProps): JSX.Element {
  const turn = turned ? " rotate(180 12 12)" : "";
  const at = `translate(${x - size / 2} ${y - size / 2}) scale(${size / 24})${turn}`;
  return <path class="pip" d={PIPS[suit]} transform={at} />;
}

/** The upper half of a court card; the card shows it twice, once upside down. */
function Court({ rank, suit }: { rank: Rank; suit: Suit }): JSX.Element {
  return (
    <g>
      <path class="robe" d="M24 70V62c2-11 11-17 26-17s24 6 26 17v8z" />
      <path class="trim" d="M50 45 38 49l8 21h8l8-21zM24 64h9v6h-9zM67 64h9v6h-9z" />
      <path class="skin" d="M45 38h10v9c-3 4-7 4-10 0z" />
      {rank === "Q" && (
        <path
          class="hair"
          d="M39 28c0-9 5-13 11-13s11 4 11 13c0 8 3 12 6 17-5 2-9 0-11-5H44c-2 5-6 7-11 5 3-5 6-9 6-17z"
        />
      )}
      {rank === "J" && (
        <path class="hair" d="M39 34c-3-12 3-17 11-17s14 5 11 17c0 5 1 7 3 9-5 1-8-1-8-6H44c0 5-3 7-8 6 2-2 3-4 3-9z" />
      )}
      <ellipse class="skin" cx="50" cy="30" rx="9.5" ry="11" />
      {rank === "K" && <path class="hair" d="M40 30c1 4 3 5 10 5s9-1 10-5c1 10-2 19-10 20-8-1-11-10-10-20z" />}
      <path class="line" d="M45.5 28.5h2M52.5 28.5h2M50 29.5v4M47.5 37c1.6 1 3.4 1 5 0" />
      {rank === "K" && (
        <g>
          <path class="gold" d="M37 21 34 8l8 5 8-9 8 9 8-5-3 13c-8-3-18-3-26 0z" />
          <circle class="gem" cx="50" cy="14" r="2.2" />
          <path class="line" d="M38 19c8-2.5 16-2.5 24 0" />
        </g>
      )}
      {rank === "Q" && (
        <g>
          <path class="gold" d="M40 19 37 11l6 3 7-7 7 7 6-3-3 8c-6-2.5-14-2.5-20 0z" />
          <circle class="gem" cx="50" cy="6.5" r="2" />
          <circle class="gem" cx="37" cy="10.5" r="1.5" />
          <circle class="gem" cx="63" cy="10.5" r="1.5" />
        </g>
      )}
      {rank === "J" && (
        <g>
          <path class="robe" d="M37 21c1-8 6-12 14-12 7 0 12 4 12 11-8-2-18-2-26 1z" />
          <path class="gold" d="M60 15c8 0 11-5 10-11-7 0-12 4-13 10z" />
          <path class="line" d="M38 20c8-2.5 16-2.5 24 0" />
        </g>
      )}
      <Pip suit={suit} x={30} y={16} size={13} />
    </g>
  );
}

/** The front of a card. Screen readers hear its name from whatever holds it. */
export function CardFace({ card }: { card: CardId }): JSX.Element {
  const texts = useTexts();
  const rank = rankOf(card);
  const suit = suitOf(card);
  const court = rank === "J" || rank === "Q" || rank === "K";
  const letter = texts.locale.letters[rank];
  const size = rank === "A" ? 46 : 16;
  const index = (
    <g>
      <text class={letter.length > 1 ? "index narrow" : "index"} x="13.5" y="25">
        {letter}
      </text>
      <Pip suit={suit} x={13.5} y={37} size={15} />
    </g>
  );
  return (
    <svg class={`face suit-${suit}`} viewBox="0 0 100 140" aria-hidden="true" focusable="false">
      <rect class="paper" x="0.5" y="0.5" width="99" height="139" rx="8" />
      {court && (
        <g>
          <rect class="frame" x="23" y="9" width="54" height="122" rx="4" />
          <svg aria-hidden="true" x="23" y="9" width="54" height="61" viewBox="21 2 58 68" preserveAspectRatio="none">
            <Court rank={rank} suit={suit} />
          </svg>
          <g transform="rotate(180 50 70)">
            <svg aria-hidden="true" x="23" y="9" width="54" height="61" viewBox="21 2 58 68" preserveAspectRatio="none">
              <Court rank={rank} suit={suit} />
            </svg>
          </g>
          <path class="line" d="M23 70h54" />
        </g>
      )}
      {LAYOUT[rank]?.map(([x, y]) => (
        <Pip key={`${x},${y}`} suit={suit} x={x} y={y} size={size} turned={y > 72} />
      ))}
      {index}
      <g transform="rotate(180 50 70)">{index}</g>
    </svg>
  );
}

/** The back of a card: a rosette in a lattice. */
export function CardBack(): JSX.Element {
  return (
    <svg class="face back" viewBox="0 0 100 140" aria-hidden="true" focusable="false">
      <rect class="paper" x="0.5" y="0.5" width="99" height="139" rx="8" />
      <rect class="ground" x="6" y="6" width="88" height="128" rx="5" />
      <g class="lattice">
        {Array.from({ length: 9 }, (_, row) =>
          Array.from({ length: 6 }, (_, column) => (
            <path key={`${row}-${column}`} d={`M${column * 16 + 10} ${row * 14 + 6}l8 7-8 7-8-7z`} />
          )),
        )}
      </g>
      <circle class="ground" cx="50" cy="70" r="24" />
      <g class="rosette">
        {Array.from({ length: 8 }, (_, petal) => (
          <ellipse key={petal} cx="50" cy="57" rx="4.5" ry="10" transform={`rotate(${petal * 45} 50 70)`} />
        ))}
        <circle cx="50" cy="70" r="3.5" />
      </g>
    </svg>
  );
}

/** A row of small cards that read as one: "seven of hearts, eight of hearts". */
export function CardRow({ cards, small }: { cards: readonly CardId[]; small?: boolean }): JSX.Element {
  const texts = useTexts();
  const names = cards.map((card) => texts.locale.card(rankOf(card), suitOf(card))).join(", ");
  return (
    <span class={small ? "card-row small" : "card-row"} role="img" aria-label={names}>
      {cards.map((card) => (
        <span class="card" key={card}>
          <CardFace card={card} />
        </span>
      ))}
    </span>
  );
}
