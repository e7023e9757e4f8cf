import type { MessageKey, Translate } from "@/lib/i18n";

/** What may be asked for as a whole; `node` is the operator's. */
export const ROOMS = ["reservation", "lease", "price", "invoice", "quota", "token", "session", "member", "project", "password", "node"] as const;

const known = (t: Translate, key: string): string | null => {
  const word = t(key as MessageKey);
  return word === key ? null : word;
};

/** "Reservation: Active" for `reservation.active`; a kind that we have no words for as it came. */
export function kindWords(kind: string, t: Translate): string {
  const [room = "", word = ""] = kind.split(".");
  const roomWord = known(t, `events.room_${room}`) ?? room;
  const own = known(t, `events.word_${word}`) ?? known(t, `state.${word}`) ?? word.replaceAll("_", " ");
  return own ? `${roomWord}: ${own}` : roomWord;
}

/** `user:usr_...` or `system`, told to somebody. */
export function actorWords(actor: string, me: string, t: Translate): string {
  if (actor === `user:${me}`) return t("events.you");
  if (actor.startsWith("user:")) return actor.slice(5);
  // `system:marketplace` names the part; who reads this knows one market.
  return known(t, `events.actor_${actor.split(":")[0]}`) ?? actor;
}
