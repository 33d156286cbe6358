package route

import "bytes"

// MaxCount is the greatest Count of an [Affinity].
const MaxCount = 1024

// maxUntil is the greatest length of the text of an [Affinity], in bytes.
const maxUntil = 64

// Affinity says which part of a key is its routed key: that is hashed and looked up in place of the
// key, so that keys of one routed key stay together. The zero value stands for the whole key.
type Affinity struct {
	// Tag: what stands between the first { and the next }, as the hash tags of Redis Cluster. It is the
	// whole key where there is no such part, or an empty one.
	Tag bool `json:"tag,omitzero"`
	// Until is a text before which the routed key stands. It is the whole key where the text does not occur,
	// or nothing stands before it.
	Until string `json:"until,omitzero"`
	// Count is before which occurrence of Until, counted without overlaps. 0 stands for 1.
	Count int `json:"count,omitzero"`
}

// IsZero reports whether the routed key is the whole key.
func (a Affinity) IsZero() bool { return !a.Tag && a.Until == "" }

// RoutedKey is a part of the key, which shares its bytes. That of a routed key is itself.
func (a Affinity) RoutedKey(key []byte) []byte {
	if a.IsZero() {
		return key
	}
	return a.part(key)
}

func (a Affinity) part(key []byte) []byte {
	if a.Tag {
		if _, behind, found := bytes.Cut(key, []byte{'{'}); found {
			if tag, _, ends := bytes.Cut(behind, []byte{'}'}); ends && len(tag) > 0 {
				return tag
			}
		}
		return key
	}
	end := 0
	for n := max(a.Count, 1); n > 0; n-- {
		at := bytes.Index(key[end:], []byte(a.Until))
		if at < 0 {
			return key
		}
		if end += at; n > 1 {
			end += len(a.Until)
		}
	}
	if end == 0 {
		return key
	}
	return key[:end]
}

func (a Affinity) normal() Affinity {
	if a.Until != "" {
		a.Count = max(a.Count, 1)
	}
	return a
}

// validate reports what is wrong with the affinity of a configuration.
func (a Affinity) validate() error {
	const field = "Affinity"
	switch {
	case a.Tag && a.Until != "":
		return &ConfigError{field, "must be either tag or until"}
	case a.Until == "" && a.Count != 0:
		return &ConfigError{field + ".Count", "belongs to until"}
	case len(a.Until) > maxUntil:
		return &ConfigError{field + ".Until", "must be at most 64 bytes long"}
	}
	return requireWithin(field+".Count", a.Count, 0, MaxCount)
}

// affine places keys by their routed keys. Without a function nobody knows where they are.
type affine struct {
	Affinity
	function Function
}

// Instance implements [Function].
func (f affine) Instance(key []byte, hash uint64) (int32, error) {
	if f.function == nil {
		return 0, ErrNoRoute
	}
	if routed := f.RoutedKey(key); len(routed) < len(key) {
		key, hash = routed, KeyHash(routed)
	}
	return f.function.Instance(key, hash)
}
