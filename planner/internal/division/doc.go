// Package division divides the keys that no instance can carry whole, or that are cheaper so,
// over several instances. All else is whole: strategies plan it, beside what the parts cost,
// and this package knows them by a function value only, see [Strategy].
//
// # Objective
//
// A division gives each of some keys two parts or more, each with a weight and an instance.
// In this order, as well as the moves below can:
//
//   - no live instance is above its bound, parts, what they cost to merge and whole keys included;
//   - there are no more parts than the keys need that fit on no instance (within one), or, where
//     parts have a price, as many as lower the objective with the price of each beyond a key's first;
//   - as little state as can be has to move. Other weights move nothing, and a further part starts
//     empty. A part that is taken away moves, unless parts expire.
//
// # Moves
//
//   - reweigh: the parts of a key get other weights, which level loads (weigh.go);
//   - add: a key gets a part on the roomiest instance that is not in the way already (keep.go);
//   - shrink: a key loses the part without which least has to move; with one left it is whole (keep.go);
//   - divide anew: a key gets as few parts as rooms allow, where its state is already if they do,
//     else where the least load is in the way (divide.go). N_D−1 parts beyond the first always
//     suffice for θ = 0 (McNaughton's rule of wrapping around, Management Science 6, 1959);
//   - pool: whole keys are planned with the instances that share keys as one, since weights level
//     loads among these (pools.go);
//   - pour: whole keys are planned as if the others were nowhere, and these are divided over the
//     room that is left (pour.go);
//   - promise: keys that relieve an instance get a further part (price.go).
//
// # Order
//
// [Space.Start] reweighs the committed division. If all limits are met and there are not too many
// parts, that is all. Else it adds parts while loads need it, and shrinks while there are too many;
// where that does not come to a division, and where nothing is divided yet, it divides anew, the
// costliest key first, until the next fits whole.
//
// [Start.Solve] plans the whole keys beside that: with pools, then without. If some instance is
// above its bound all the same, it pours. The best plan counts, by its score.
//
// [Space.Cheaper], with a price, repeats this with further parts where they promise most: all of
// those that do, half of them, and so on, and keeps what lowers the objective.
//
// # When it stops
//
// Weights: after 60 rounds, or when no weight changes by 1/4096 of its key. Adding: when parts fit,
// or no instance has room. Shrinking: there are fewer parts each time. Further parts: after four
// rounds, or when none lowers the objective. Each plan of whole keys ends by its own meter, which
// all of them share.
package division
