/** Words on screen. English is the reference; another language must have every one of its messages. */
import { useSyncExternalStore } from "react";
import type { en } from "@/i18n/en/catalog";
import { signal } from "@/lib/signal";
import { readStored, writeStored } from "@/lib/stored";

export const LANGUAGES = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;

type Tree = { readonly [name: string]: string | Tree };
type Base<K extends string> = K extends `${infer Name}_one` | `${infer Name}_other` ? Name : K;
type Paths<T> = {
  [K in keyof T & string]: T[K] extends string ? Base<K> : `${K}.${Paths<T[K]>}`;
}[keyof T & string];

/** The name of a message: "offers.title". A message with a plural is named without its `_one` or `_other`. */
export type MessageKey = Paths<typeof en>;
export type Args = Record<string, string | number>;
export type Translate = (key: MessageKey, args?: Args) => string;

const LOADERS: Record<Language, () => Promise<Tree>> = {
  en: () => import("@/i18n/en/catalog").then((module) => module.en),
  zh: () => import("@/i18n/zh/catalog").then((module) => module.zh),
};

type State = { language: Language; messages: Tree; t: Translate };

const plurals = { en: new Intl.PluralRules("en"), zh: new Intl.PluralRules("zh") };

function find(messages: Tree, path: string): string | undefined {
  let here: string | Tree | undefined = messages;
  for (const name of path.split(".")) {
    if (typeof here !== "object") return undefined;
    here = here[name];
  }
  return typeof here === "string" ? here : undefined;
}

function translator(language: Language, messages: Tree): Translate {
  return (key, args = {}) => {
    const count = args["n"];
    const form = typeof count === "number" ? plurals[language].select(count) : "other";
    const message = find(messages, `${key}_${form}`) ?? find(messages, `${key}_other`) ?? find(messages, key);
    if (message === undefined) return key;
    return message.replace(/\{(\w+)\}/g, (hole, name: string) => {
      const value = args[name];
      return value === undefined ? hole : typeof value === "number" ? value.toLocaleString("en-GB") : value;
    });
  };
}

const current = signal<State>({ language: "en", messages: {}, t: translator("en", {}) });

export const language = (): Language => current.get().language;

/** For code that is not a component; a component uses `useT`, which follows a change. */
export const translate: Translate = (key, args) => current.get().t(key, args);

/** The kept choice, else the first language of the browser that we speak. */
export function preferredLanguage(): Language {
  const kept = readStored("language");
  if (kept !== null && kept in LANGUAGES) return kept as Language;
  const spoken = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag in LANGUAGES);
  return (spoken as Language | undefined) ?? "en";
}

/** Loads a language and shows it. */
export async function loadLanguage(next: Language): Promise<void> {
  const messages = await LOADERS[next]();
  document.documentElement.lang = next === "zh" ? "zh-Hans" : next;
  current.set({ language: next, messages, t: translator(next, messages) });
}

export async function chooseLanguage(next: Language): Promise<void> {
  writeStored("language", next);
  await loadLanguage(next);
}

export function useT(): Translate {
  return useSyncExternalStore(current.subscribe, current.get).t;
}

export function useLanguage(): Language {
  return useSyncExternalStore(current.subscribe, current.get).language;
}
