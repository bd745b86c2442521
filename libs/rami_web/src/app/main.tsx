/** The page: its frame, its addresses, its language and colours. */
import { type JSX, render } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RuleOptions } from "../client/index.ts";
import { type Page, PageContext } from "./context.ts";
import { LOCALES, negotiate, Texts } from "./i18n.ts";
import { RulesDialog } from "./parts/Rules.tsx";
import { explain } from "./problems.ts";
import { Session, type Theme } from "./session.ts";
import "./style/base.css";
import "./style/home.css";
import "./style/cards.css";
import "./style/table.css";
import { HomeView } from "./views/Home.tsx";
import { ReplayView } from "./views/Replay.tsx";
import { RoomView } from "./views/Room.tsx";

const wishes = [new URLSearchParams(location.search).get("lang") ?? "", ...navigator.languages];
const session = new Session("en");

/** Of what was said lately so much is kept: a screen reader reads what is added. */
const SAID_LIMIT = 8;

function preferredTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function path(): string {
  return location.hash.replace(/^#/, "") || "/";
}

function App(): JSX.Element {
  const [locale, setLocale] = useState(() => negotiate([session.language ?? "", ...wishes]));
  const [theme, setTheme] = useState<Theme>(() => session.theme ?? preferredTheme());
  const [where, setWhere] = useState(path);
  const [said, setSaid] = useState<{ id: number; text: string }[]>([]);
  const [problem, setProblem] = useState("");
  const [rulesOpen, setRulesOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const texts = useMemo(() => new Texts(locale), [locale]);

  // Before the page is drawn: nobody sees it in another colour, or hears it in another language, for a moment.
  useLayoutEffect(() => {
    document.documentElement.lang = locale.tag;
    session.rami.language = locale.tag;
  }, [locale]);
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    const follow = () => {
      setWhere(path());
      setProblem("");
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  const announce = useCallback((text: string) => {
    setSaid((before) => [...before, { id: (before.at(-1)?.id ?? 0) + 1, text }].slice(-SAID_LIMIT));
  }, []);
  const complain = useCallback((error: unknown) => setProblem(explain(texts, error)), [texts]);
  useEffect(() => {
    if (!problem) return;
    const timer = setTimeout(() => setProblem(""), 8000);
    return () => clearTimeout(timer);
  }, [problem]);
  const lead = useCallback(async (work: () => Promise<string | undefined>) => {
    const from = location.hash;
    const to = await work();
    if (to && location.hash === from) location.hash = to;
  }, []);
  const ruleOptions = useRef<RuleOptions>();
  const page: Page = useMemo(
    () => ({ texts, session, announce, complain, lead, ruleOptions }),
    [texts, announce, complain, lead],
  );

  const [, view = "", id = ""] = where.split("/");
  return (
    <PageContext.Provider value={page}>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        {texts.t("skip")}
      </button>
      <header class="top">
        <a class="brand" href="#/" aria-label={`Rami – ${texts.t("toStart")}`}>
          <Mark />
          <span>Rami</span>
        </a>
        <div class="tools">
          <button type="button" class="quiet" onClick={() => setRulesOpen(true)}>
            {texts.t("rules")}
          </button>
          <label class="language">
            <span class="hidden">{texts.t("language")}</span>
            <select
              value={locale.tag}
              onChange={(event) => {
                const next = negotiate([event.currentTarget.value]);
                session.language = next.tag;
                setLocale(next);
              }}
            >
              {LOCALES.map(({ tag, name }) => (
                <option key={tag} value={tag} lang={tag}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button
            type="button"
            class="quiet icon"
            aria-label={texts.t(theme === "dark" ? "themeLight" : "themeDark")}
            title={texts.t(theme === "dark" ? "themeLight" : "themeDark")}
            onClick={() => {
              const next = theme === "dark" ? "light" : "dark";
              session.theme = next;
              setTheme(next);
            }}
          >
            <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
              {theme === "dark" ? (
                <path
                  d="M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM12 1v3M12 20v3M1 12h3M20 12h3M4.2 4.2l2.1 2.1M17.7 17.7l2.1 2.1M4.2 19.8l2.1-2.1M17.7 6.3l2.1-2.1"
                  fill="none"
                  stroke="currentColor"
                  stroke-width="2"
                  stroke-linecap="round"
                />
              ) : (
                <path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z" fill="currentColor" />
              )}
            </svg>
          </button>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {view === "room" && <RoomView key={id} roomId={decodeURIComponent(id)} />}
        {view === "replay" && <ReplayView key={id} roomId={decodeURIComponent(id)} />}
        {view !== "room" && view !== "replay" && <HomeView joinCode={view === "join" ? decodeURIComponent(id) : ""} />}
      </main>
      <div class="hidden" role="log" data-testid="live">
        {said.map(({ id, text }) => (
          <p key={id}>{text}</p>
        ))}
      </div>
      <div class="problem" role="alert" hidden={!problem}>
        {problem}
        <button type="button" class="quiet" onClick={() => setProblem("")}>
          {texts.t("close")}
        </button>
      </div>
      {rulesOpen && <RulesDialog onClose={() => setRulesOpen(false)} />}
    </PageContext.Provider>
  );
}

function Mark(): JSX.Element {
  return (
    <svg viewBox="0 0 40 40" width="34" height="34" aria-hidden="true">
      <rect class="mark-back" x="6" y="7" width="17" height="25" rx="3" transform="rotate(-14 14 20)" />
      <rect class="mark-front" x="16" y="7" width="17" height="25" rx="3" transform="rotate(9 24 20)" />
      <path
        class="mark-heart"
        d="M24.5 27c-3.3-3.6-7-6-7-9.4 0-2.1 1.6-3.7 3.5-3.7 1.5 0 2.8.9 3.5 2.3.7-1.4 2-2.3 3.5-2.3 1.9 0 3.5 1.6 3.5 3.7 0 3.4-3.7 5.8-7 9.4z"
        transform="rotate(9 24 20)"
      />
    </svg>
  );
}

const root = document.getElementById("app");
if (root) render(<App />, root);
