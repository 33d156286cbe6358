// What several parts of the page hear of.

import { useEffect, useReducer } from 'preact/hooks'

/** Tells all who listen. */
export class Topic {
  listeners = new Set()

  tell(...words) {
    this.listeners.forEach((listener) => listener(...words))
  }

  /** Calls a listener whenever something is told; returns what ends that. */
  listen(listener) {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

/** Draws a view anew whenever something is told. */
export function useTopic(topic) {
  const [, turn] = useReducer((n) => n + 1, 0)
  useEffect(() => topic.listen(turn), [])
}
