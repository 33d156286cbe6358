// What several parts of the page hear of.

import { useCallback, useEffect, useState } from 'preact/hooks'

/**
 * Tells all who listen.
 *
 * @template {unknown[]} [W=[]]
 */
export class Topic {
  /** @type {Set<(...words: W) => void>} */
  listeners = new Set()

  /** @param {W} words */
  tell(...words) {
    this.listeners.forEach((listener) => listener(...words))
  }

  /**
   * Calls a listener whenever something is told; returns what ends that.
   *
   * @param {(...words: W) => void} listener
   */
  listen(listener) {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }
}

/**
 * Draws a view anew whenever something is told.
 *
 * @template {unknown[]} W
 * @param {Topic<W>} topic
 */
export function useTopic(topic) {
  const [, turn] = useTurns()
  useEffect(() => topic.listen(turn), [])
}

/**
 * A number, and what makes it greater by one, so that the view is drawn anew.
 *
 * @returns {[number, () => void]}
 */
export function useTurns() {
  const [turns, set] = useState(0)
  const turn = useCallback(() => set((n) => n + 1), [])
  return [turns, turn]
}
