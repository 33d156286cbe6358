/**
 * Carries a plan out without losing, doubling or reordering a message: the routers' side, the
 * instances' side and the driver's side of the protocol that docs/guarantees.md describes.
 *
 * <p>Each side is a state machine without a clock, threads, input or output. A transport tells it
 * what happens, and does what it answers: {@link plannerd.sdk.handoff.Router} takes messages and
 * answers where to append them, {@link plannerd.sdk.handoff.Instance} reads channels and transfers
 * and answers what to do with the state of keys, {@link plannerd.sdk.handoff.Driver} collects what
 * the service has to be told. The rules are those of the Go package sdk/go/handoff, which is
 * explored exhaustively there.
 *
 * <p>Channels from routers to instances are ordered. A router that sees a pending plan holds back
 * the messages of every key that the plan moves, and appends a marker to the channel of each
 * instance that the plan awaits: nothing of those keys is in flight behind it. An instance that has
 * read the markers of all routers sends the state of what leaves it to where it belongs, and then
 * an end to every other instance that the plan awaits. One that has sent its own, and has the ends
 * of all others, acknowledges. When all have, the plan is committed, and routers release what they
 * held to the new owners. State that moved in is provisional, and state that moved out is kept,
 * until the plan has ended; an abort has two phases.
 *
 * <p>A transport must give:
 *
 * <ul>
 *   <li>What a router appends to one instance is read in this order. An append under a lower epoch
 *       than the highest of that channel is refused, and the router learns of it.
 *   <li>A source stays with its router, which appends its messages of a key in their order.
 *   <li>A message is acknowledged to its source when it has been appended, not when it is held. The
 *       source numbers the messages of a key; an instance drops a number that is not above the
 *       last, and that number is part of the state of the key, so that it moves with it.
 *   <li>What one event has an instance do becomes durable at once: the state of keys, the machine
 *       ({@link plannerd.sdk.handoff.Instance#durable}) and the positions in channels and
 *       transfers. What it exports is sent before that, and may be sent again; ends,
 *       acknowledgements and votes are sent after it, and {@link
 *       plannerd.sdk.handoff.Instance#resume} repeats them.
 *   <li>A router registers, then reads the table, and only then forwards.
 * </ul>
 */
package plannerd.sdk.handoff;
