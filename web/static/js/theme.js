// Light, dark, or as the system has it: what the visitor chose is remembered.

import { forGood } from './storage.js'
import { Topic } from './topic.js'

const key = 'plannerd.theme'
const changes = new Topic()
const system = matchMedia('(prefers-color-scheme: dark)')

/** The choice: 'system', 'light' or 'dark'. */
export const theme = () => {
  const chosen = forGood.get(key)
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

/** @param {string} chosen */
export function setTheme(chosen) {
  forGood.set(key, chosen)
  apply()
}

/**
 * Calls back whenever the colours change; returns what ends that.
 *
 * @param {() => void} callback
 */
export const onTheme = (callback) => changes.listen(callback)

function apply() {
  document.documentElement.dataset.theme = theme()
  changes.tell()
}

system.addEventListener('change', apply)
apply()

const probe = document.createElement('span')
probe.hidden = true

/**
 * The colour that a custom property of the style sheet stands for now, as charts need it.
 *
 * @param {string} name
 */
export function colour(name) {
  if (!probe.isConnected) document.body.append(probe)
  probe.style.color = `var(--${name})`
  return getComputedStyle(probe).color
}
