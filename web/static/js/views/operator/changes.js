// What changed of an operator: since one looked at it last, and from one version of its configuration to the next.

import { request, useList } from '../../api.js'
import { absolute, clock, count, counted, exactly, percent } from '../../format.js'
import { html, useEffect, useState } from '../../html.js'
import { Card, loaded, plainTable, Time } from '../../parts.js'
import { forGood, forTab } from '../../storage.js'
import { statuses, statusWords } from '../../words.js'
import { affinityWords, windowWords } from '../configuration/groups.js'
import { resourceOf } from '../configuration/resources.js'
import { labelsOf, ruleOf } from '../configuration/rules.js'

/**
 * @param {string} member
 * @param {unknown} value
 */
function valueWords(member, value) {
  if (value === null) return 'none'
  if (member === 'theta_max') return percent(Number(value))
  if (member === 'hash/affinity') return affinityWords(/** @type {API['Affinity']} */ (value))
  if (member === 'approval/start_windows' && Array.isArray(value)) return value.map(windowWords).join('; ')
  if (member === 'instances' && Array.isArray(value)) return counted(value.length, 'instance')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * The rules of a placement, or what is already a list of them.
 *
 * @param {any} value
 * @returns {API['PlacementRule'][]}
 */
const rulesIn = (value) => value?.rules ?? value ?? []

/**
 * Which rules came, went and are other ones. Where these are the same, their order is another one.
 *
 * @param {API['PlacementRule'][]} from
 * @param {API['PlacementRule'][]} to
 */
function ruleWords(from, to) {
  const find = (/** @type {API['PlacementRule'][]} */ list, /** @type {string} */ name) =>
    list.find((r) => r.name === name)
  const words = to.flatMap((rule) => {
    const was = find(from, rule.name)
    if (!was) return `rule ${rule.name} added: ${ruleOf(rule)}`
    const [before, after] = [was, rule].map(ruleOf)
    return before === after ? [] : `rule ${rule.name}: ${before} → ${after}`
  })
  words.push(...from.filter((r) => !find(to, r.name)).map((r) => `rule ${r.name} removed`))
  return words.length > 0 ? words.join('; ') : 'order of the rules changed'
}

/**
 * Which resources came, went and are other ones.
 *
 * @param {API['Resource'][]} from
 * @param {API['Resource'][]} to
 */
function resourceWords(from, to) {
  const words = to.flatMap((of, i) => {
    const was = from.find((r) => r.name === of.name)
    if (i === 0) return was ? [] : `cost is called ${of.name}`
    if (!was) return `resource ${of.name} added: ${resourceOf(of)}`
    const [before, after] = [was, of].map(resourceOf)
    return before === after ? [] : `resource ${of.name}: ${before} → ${after}`
  })
  words.push(...from.slice(1).flatMap((r) => (to.some((x) => x.name === r.name) ? [] : `resource ${r.name} removed`)))
  if (to.length === 0) words.push('cost is all that counts')
  return words.length > 0 ? words : ['order of the resources changed']
}

const mostInstances = 12 // whose capacities are told one by one

/**
 * What is other with instances of which there are as many as before: capacities.
 *
 * @param {API['Instance'][]} from
 * @param {API['Instance'][]} to
 */
function capacityWords(from, to) {
  const words = to.flatMap((now) => {
    const was = from.find((i) => i.id === now.id)
    if (!was) return []
    const [before, after] = [was, now].map(({ capacity = 1, capacities = {} }) => ({ capacity, ...capacities }))
    return Object.keys({ ...before, ...after }).flatMap((name) => {
      const [x, y] = [before, after].map((of) => /** @type {Record<string, number>} */ (of)[name])
      const text = (/** @type {number | undefined} */ n) => (n === undefined ? 'none' : exactly(n))
      return x === y ? [] : `${name} of ${now.name ?? `instance ${now.id}`}: ${text(x)} → ${text(y)}`
    })
  })
  return words.length > mostInstances
    ? [`${counted(words.length, 'capacity', 'capacities')} of instances changed`]
    : words
}

/**
 * What is other with instances of which there are as many as before: labels, and what they take.
 *
 * @param {API['Instance'][]} from
 * @param {API['Instance'][]} to
 */
const instanceWords = (from, to) =>
  to.flatMap((now) => {
    const was = from.find((i) => i.id === now.id)
    const name = now.name ?? `instance ${now.id}`
    if (!was) return []
    const [before, after] = [was, now].map(({ labels = {} }) => labelsOf(labels) || 'none')
    return [
      ...(before === after ? [] : [`labels of ${name}: ${before} → ${after}`]),
      ...(was.takes === now.takes ? [] : [`${name} takes ${now.takes === 'none' ? 'nothing new' : 'keys again'}`]),
    ]
  })

/** @type {Record<string, string>} */
const memberWords = { theta_max: 'θ_max', 'hash/affinity': 'keys that stay together:' }

/**
 * @param {API['MemberChange']} change
 * @returns {string[]}
 */
export function wordsOf({ member, from, to }) {
  /** @type {[any, any]} */
  const [was, is] = [from, to]
  if (member.startsWith('placement')) return [ruleWords(rulesIn(was), rulesIn(is))]
  if (member === 'resources') return resourceWords(was ?? [], is ?? [])
  if (member === 'instances' && Array.isArray(was) && Array.isArray(is)) {
    const changed = [...instanceWords(was, is), ...capacityWords(was, is)]
    if (changed.length > 0) return changed
  }
  const [before, after] = [valueWords(member, from), valueWords(member, to)]
  return [`${memberWords[member] ?? member} ${before === after ? 'changed' : `${before} → ${after}`}`]
}

const changeWords = (/** @type {API['MemberChange']} */ change) => wordsOf(change).join('; ')

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
