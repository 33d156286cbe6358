// Package reading is how the commands that work on files read them: the flags of an operator
// and of an input, statistics by interval, lists of pairs, and what is wrong with a file in
// words. It plans nothing and prints no results.
package reading
