// What the terms of the page mean, told where the pointer rests on them.

import { html } from './html.js'

/** @type {Record<string, string>} */
const meanings = {
  'θ expected next': 'How far the busiest instance will be above its fair share in the next interval, in the median.',
  'Greatest overload θ': 'How far the busiest instance is above its fair share of the load: 0 % is even.',
  'θ before → after': 'How far the busiest instance is above its fair share, before the plan and after it.',
  θ: 'How far the busiest instance is above its fair share of the load: 0 % is even.',
  'θ after': 'How far the busiest instance is above its fair share of the load after the plan.',
  θ_max: 'What θ may be after a plan.',
  Migration: 'The keys that go to another instance, and the state that has to be copied for it.',
  'Migrated state': 'The state that has to be copied.',
  'Routing table': 'The keys that do not go where the hash function sends them, one entry for each.',
  'Table size': 'The number of entries of the routing table after the plan.',
  Certificate: 'What is proven about the plan: how much any plan within the limits has to move.',
  Gap: 'How much more the plan moves, at most, than any plan within the limits.',
  Underload: 'How far the least busy instance is below its fair share of the load.',
  Skewness: 'The greatest load of an instance divided by the mean load; 1 is even.',
  'Drifted keys': 'Keys whose state was not where the committed table says.',
  'Idle table entries': 'Entries of keys that the statistics have not named for a while.',
  'Compact records': 'Classes of alike keys, sent in place of the keys.',
  'Load error': 'How far the loads of compact records are off those of the keys.',
  Objective: 'What is to be as small as possible: the state that moves, or the imbalance.',
  β: 'The weight of cost against state in the order in which keys are taken.',
  τ: 'An instance is overloaded when its load exceeds (1 + τ) times the second greatest.',
  'Overhead per key': 'What moving a key costs beside its state.',
  'Work budget': 'How much work planning may take: the same on every machine, unlike time.',
  Compaction: 'Rounding that makes classes of alike keys, so that planning is faster.',
  Epoch: 'Raised by an engine that starts anew; intervals are counted within it.',
  'Input hash': 'The same for the same statistics.',
  Cost: 'The load that a key causes in an interval.',
  State: 'How much must be copied when a key moves.',
  'Target θ': 'The θ that plans were made for: if it is lower than θ_max, loads have room to change.',
  'Above θ_max': 'The part of the judged intervals in which some instance was above θ_max.',
  'θ median': 'The median of θ as it came, under the tables of the plans before.',
  'θ p95': 'In one of 20 intervals θ came out higher than this.',
  'Moved state': 'The state that moved in all judged intervals, each time as a part of all state.',
  Returned: 'The part of it that went back to an instance which it had left shortly before: it need not have moved.',
  'Hindsight bound':
    'The least that anybody could have moved who knew the judged intervals, and kept θ as this policy did.',
  Front: 'Marked are the policies that no other one beats in both how far θ exceeded θ_max and what moved.',
  Pareto: 'Marked are the plans that no other one beats in θ, migrated state and table size at once.',
  'Share of state': 'The state that has to be copied, of all state.',
  'Pareto front': 'The plans that no other one beats in θ, migrated state and table size at once.',
}

/** @param {Children} text */
export const meaning = (text) =>
  typeof text === 'string' && Object.hasOwn(meanings, text) ? meanings[text] : undefined

/**
 * A text, with its meaning if it is a term.
 *
 * @param {Children} text
 */
export const explained = (text) => {
  const title = meaning(text)
  return title ? html`<span class="term" title=${title}>${text}</span>` : text
}
