package workload

import (
	"cmp"
	"math"
	"strconv"

	"plannerd/planner"
)

// The distributions.
const (
	// Zipf: the key of rank r = 1…K has a share of the tuples in proportion to r^−z.
	Zipf = "zipf"
	// LogNormal: the tuples are draws of exp(μ + σ·N(0,1)), and the key numbered
	// m = 0…K−1 has those that round to m. Draws above K−½ are left out.
	LogNormal = "lognormal"
)

// Defaults of [Config], and those of tools for the fields whose zero value is
// meaningful. The ones of the Zipf workload are mixed-routing's.
const (
	DefaultZ             = 0.85
	DefaultFluctuation   = 1.0
	DefaultWindow        = 5
	DefaultTuplesPerKey  = 100
	DefaultBytesPerTuple = 1
	// The workload LN1 of partial-key-grouping §6.1, whose top key has 14.71 % of
	// the tuples; LN2, with 7.01 %, has μ = 2.245 and σ = 1.133.
	DefaultMu    = 1.789
	DefaultSigma = 2.366
)

// Config says what to generate.
type Config struct {
	Keys      int // K ≥ 1, the size of the key domain
	Instances int // N_D ≥ 1, over which the mean load L̄ is taken
	// Distribution is [Zipf] or [LogNormal]. Defaults to Zipf.
	Distribution string
	// Z ≥ 0 is the exponent of the Zipf distribution. Defaults to 0, all keys
	// alike.
	Z float64
	// Mu is μ and Sigma is σ > 0 of the log-normal distribution. Both zero:
	// DefaultMu and DefaultSigma.
	Mu, Sigma float64
	// Tuples is how many there are in each interval, up to 2³²−1. Defaults to
	// DefaultTuplesPerKey times Keys.
	Tuples int64
	// Fluctuation is f ≥ 0. Before every interval i but the first, keys of
	// different instances swap their frequencies until some instance d has
	// |L_i(d) − L_{i−1}(d)| ≥ f·L̄. Defaults to 0, nothing changes.
	Fluctuation float64
	// Window is w ≥ 1, the number of intervals whose tuples leave state, the
	// newest included. Defaults to DefaultWindow.
	Window int
	// BytesPerTuple is the state that each tuple leaves. Defaults to
	// DefaultBytesPerTuple.
	BytesPerTuple float64
	// Seed decides which key has which rank, and the swaps.
	Seed uint64
}

func (c Config) withDefaults() Config {
	c.Distribution = cmp.Or(c.Distribution, Zipf)
	if c.Distribution == LogNormal && c.Mu == 0 && c.Sigma == 0 {
		c.Mu, c.Sigma = DefaultMu, DefaultSigma
	}
	c.Tuples = cmp.Or(c.Tuples, int64(c.Keys)*DefaultTuplesPerKey)
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.BytesPerTuple = cmp.Or(c.BytesPerTuple, DefaultBytesPerTuple)
	return c
}

// validate checks c, whose defaults are filled in.
func (c Config) validate() error {
	switch {
	case c.Keys < 1 || c.Keys > math.MaxInt32:
		return planner.Invalid("keys", "must be from 1 to "+strconv.Itoa(math.MaxInt32))
	case c.Instances < 1 || c.Instances > math.MaxInt32:
		return planner.Invalid("instances", "must be from 1 to "+strconv.Itoa(math.MaxInt32))
	case c.Distribution != Zipf && c.Distribution != LogNormal:
		return planner.Invalid("distribution", "must be zipf or lognormal")
	case !nonNegative(c.Z):
		return planner.Invalid("z", "must be ≥ 0 and finite")
	case c.Distribution != Zipf && c.Z != 0:
		return planner.Invalid("z", "belongs to the zipf distribution")
	case c.Distribution == Zipf && (c.Mu != 0 || c.Sigma != 0):
		return planner.Invalid("mu", "belongs to the lognormal distribution, as does sigma")
	case math.IsNaN(c.Mu) || math.IsInf(c.Mu, 0):
		return planner.Invalid("mu", "must be finite")
	case c.Distribution == LogNormal && !(nonNegative(c.Sigma) && c.Sigma > 0):
		return planner.Invalid("sigma", "must be > 0 and finite")
	case c.Tuples < 1 || c.Tuples > math.MaxUint32:
		return planner.Invalid("tuples", "must be from 1 to "+strconv.FormatUint(math.MaxUint32, 10))
	case !nonNegative(c.Fluctuation):
		return planner.Invalid("fluctuation", "must be ≥ 0 and finite")
	case c.Window < 1:
		return planner.Invalid("window", "must be ≥ 1")
	case !nonNegative(c.BytesPerTuple):
		return planner.Invalid("bytes_per_tuple", "must be ≥ 0 and finite")
	}
	return nil
}

func nonNegative(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }
