// Package refusal says why something that was asked for is refused: one reason, a sentence,
// and what is wrong with the input. It knows what each error of the store means to a caller.
// It never asks how a caller is answered.
package refusal
