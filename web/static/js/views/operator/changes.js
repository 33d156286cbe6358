// What changed of an operator: since one looked at it last, and from one version of its configuration to the next.

import { request, useList } from '../../api.js'
import { absolute, clock, count, counted, percent } from '../../format.js'
import { html, useEffect, useState } from '../../html.js'
import { Card, loaded, plainTable, Time } from '../../parts.js'
import { forGood, forTab } from '../../storage.js'
import { statuses, statusWords } from '../../words.js'
import { windowWords } from '../configuration/groups.js'

/**
 * @param {string} member
 * @param {unknown} value
 */
function valueWords(member, value) {
  if (value === null) return 'none'
  if (member === 'theta_max') return percent(Number(value))
  if (member === 'approval/start_windows' && Array.isArray(value)) return value.map(windowWords).join('; ')
  if (member === 'instances' && Array.isArray(value)) return counted(value.length, 'instance')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** @param {API['MemberChange']} change */
const changeWords = ({ member, from, to }) => {
  const [was, is] = [valueWords(member, from), valueWords(member, to)]
  return `${member === 'theta_max' ? 'θ_max' : member} ${was === is ? 'changed' : `${was} → ${is}`}`
}

/** @param {API['FreezeChange']} f */
function freezeWords({ actor, ended, all, reason }) {
  const did = `${all ? 'all operators ' : ''}${ended ? 'unfrozen' : 'frozen'}${actor && ` by ${actor}`}`
  return ended ? did : `${did}: ${reason}`
}

/**
 * What a visitor has missed, as a list of words.
 *
 * @param {API['OperatorChanges']} c
 */
const missed = (c) => [
  ...statuses.filter((s) => c.plans[s]).map((s) => `${counted(c.plans[s], 'plan')} ${statusWords[s]}`),
  ...(c.comments > 0 ? [counted(c.comments, 'comment')] : []),
  ...(c.configuration?.since
    ? [c.configuration.changes.map(changeWords).join(', ') + (c.configuration.actor && ` by ${c.configuration.actor}`)]
    : []),
  ...c.freezes.slice(-3).map(freezeWords),
]

/**
 * What happened since the last visit, which the browser remembers. It stays there as long as the tab does.
 *
 * @param {{ name: string }} props
 */
export function SinceVisit({ name }) {
  const [shown, show] = useState(/** @type {API['OperatorChanges'] | null} */ (null))
  useEffect(() => {
    const key = `plannerd.seen.${name}`
    const since = forTab.get(key) ?? forGood.get(key)
    if (!since) {
      forGood.set(key, new Date(clock()).toISOString())
      return
    }
    const abort = new AbortController()
    request('GET', `v1/operators/${encodeURIComponent(name)}/changes`, { query: { since }, signal: abort.signal }).then(
      ({ data }) => {
        show(data)
        forTab.set(key, since)
        forGood.set(key, data.until)
      },
      () => {}, // the page says what is wrong
    )
    return () => abort.abort()
  }, [name])
  const words = shown && missed(shown)
  if (!shown || !words || words.length === 0) return null
  return html`<p class="operator-since">
    <span class="muted">Since your last visit, ${absolute(shown.since)}:</span> ${words.join('; ')}.
  </p>`
}

/**
 * Who configured an operator, when, and what changed.
 *
 * @param {{ operator: API['Operator'] }} props
 */
export function ConfigurationVersions({ operator: { name, config_version: newest } }) {
  /** @type {Watched<Items<API['ConfigurationSummary']>>} */
  const all = useList(`v1/operators/${encodeURIComponent(name)}/configurations#${newest}`, 'configurations', {
    limit: 100,
  })
  return html`<${Card} title="Who changed it" class="operator-versions">
    ${loaded(
      all,
      ({ items }) =>
        plainTable('Versions of the configuration, newest first', items, [
          ['Version', (v) => count(v.version)],
          ['What', (v) => (v.since === null ? 'the first that is kept' : v.changes.map(changeWords).join(', '))],
          ['Who', (v) => v.actor || html`<span class="muted">not said</span>`],
          ['When', (v) => html`<${Time} at=${v.created_at} />`],
        ]),
      3,
    )}
  <//>`
}
