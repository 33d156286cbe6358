// Light, dark, or as the system has it: what the visitor chose is remembered.

const key = 'plannerd.theme'
const listeners = new Set()
const system = matchMedia('(prefers-color-scheme: dark)')

/** The choice: 'system', 'light' or 'dark'. */
export const theme = () => {
  const chosen = localStorage.getItem(key)
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

export function setTheme(chosen) {
  localStorage.setItem(key, chosen)
  apply()
}

/** Calls back whenever the colours change; returns what ends that. */
export function onTheme(callback) {
  listeners.add(callback)
  return () => listeners.delete(callback)
}

function apply() {
  document.documentElement.dataset.theme = theme()
  listeners.forEach((callback) => callback())
}

system.addEventListener('change', apply)
apply()

const probe = document.createElement('span')
probe.hidden = true

/** The colour that a custom property of the style sheet stands for now, as charts need it. */
export function colour(name) {
  if (!probe.isConnected) document.body.append(probe)
  probe.style.color = `var(--${name})`
  return getComputedStyle(probe).color
}
