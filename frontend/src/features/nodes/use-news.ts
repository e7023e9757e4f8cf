import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useLiveTopic, type TopicStatus } from "@/hooks/use-live-topic";
import { keys } from "@/lib/query-keys";

const TOGETHER_MS = 300;

function useReadAgain(): () => void {
  const client = useQueryClient();
  const waiting = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(waiting.current), []);
  return () => {
    clearTimeout(waiting.current);
    waiting.current = setTimeout(() => {
      void client.invalidateQueries({ queryKey: keys.nodes });
      void client.invalidateQueries({ queryKey: keys.devices });
    }, TOGETHER_MS);
  };
}

/** Reads the nodes again as one of them joins, falls silent or is drained. */
export function useNodesNews(): TopicStatus {
  const readAgain = useReadAgain();
  return useLiveTopic("fleet", { onDelta: readAgain, onGap: readAgain }).status;
}

/** The same for one node. */
export function useNodeNews(id: string): TopicStatus {
  const readAgain = useReadAgain();
  return useLiveTopic(`node/${id}`, { onDelta: readAgain, onGap: readAgain }).status;
}
