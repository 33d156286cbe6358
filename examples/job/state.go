package job

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"

	"go.etcd.io/bbolt"

	"plannerd/sdk/go/handoff"
)

var (
	keysBucket     = []byte("keys")
	incomingBucket = []byte("incoming") // provisional states: they came, and their plan may still be aborted
	ballastBucket  = []byte("ballast")
	metaBucket     = []byte("meta")
)

// status says what the state of a key is.
type status byte

const (
	active status = iota
	kept          // its key has been handed over, and its plan may still be aborted
)

// count is the state of a key: how many messages have been counted, and the last number of
// each source's. Ballast makes it as large as the state of a real job: it has a bucket of its
// own, as a message changes a small part of a large state.
type count struct {
	n       uint64
	last    map[string]uint64
	ballast int
}

// join adds what was counted elsewhere.
func (c *count) join(other count) {
	c.n += other.n
	for source, n := range other.last {
		c.last[source] = max(c.last[source], n)
	}
	c.ballast = max(c.ballast, other.ballast)
}

func (c count) encode() []byte {
	b := binary.AppendUvarint(nil, c.n)
	b = binary.AppendUvarint(b, uint64(len(c.last)))
	for source, n := range c.last {
		b = binary.AppendUvarint(b, uint64(len(source)))
		b = append(b, source...)
		b = binary.AppendUvarint(b, n)
	}
	return binary.AppendUvarint(b, uint64(c.ballast))
}

// size is how large the whole state is.
func (c count) size() float64 { return float64(len(c.encode()) + c.ballast) }

func decodeCount(b []byte) (count, error) {
	r := reader{b: b}
	c := count{n: r.uint(), last: map[string]uint64{}}
	for range r.uint() {
		source := r.text()
		c.last[source] = r.uint()
	}
	c.ballast = int(r.uint())
	if r.bad {
		return c, errFrame
	}
	return c, nil
}

// export is a state as it goes to another instance: with its ballast.
func (s states) export(key string) ([]byte, error) {
	c, _, _, err := s.get(key)
	ballast := s.tx.Bucket(ballastBucket).Get([]byte(key))
	if err == nil && len(ballast) != c.ballast {
		err = fmt.Errorf("the state of key %q has %d bytes of ballast, not %d", key, len(ballast), c.ballast)
	}
	return append(c.encode(), ballast...), err
}

// takeIn takes a state in that came from another instance, as provisional. Of a split key
// several parts may come.
func (s states) takeIn(key string, state []byte) error {
	c, err := decodeCount(state)
	if err != nil {
		return err
	}
	part, found, err := s.incoming(key)
	if err != nil {
		return err
	}
	if err := s.putBallast(key, state[len(state)-c.ballast:]); err != nil {
		return err
	}
	if found {
		c.join(part)
	}
	return s.putIncoming(key, c)
}

func (s states) putBallast(key string, ballast []byte) error {
	return s.tx.Bucket(ballastBucket).Put([]byte(key), ballast)
}

// meta is what is durable besides the states of keys, in the same transaction: so the
// state is that of a part of the log up to the position, whatever happens.
type meta struct {
	Channel  uint64                `json:"channel"`  // position in the channels
	Transfer uint64                `json:"transfer"` // position in the transfers
	Done     done                  `json:"done"`
	Machine  handoff.Record[event] `json:"machine"`
}

// MarshalJSON writes an event that waits for its key's state.
func (e event) MarshalJSON() ([]byte, error) { return json.Marshal([]any{e.key, e.n}) }

// UnmarshalJSON reads it again.
func (e *event) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&e.key, &e.n})
}

// done is what an instance has done since there is one of its number.
type done struct {
	Processed uint64 `json:"processed"` // messages
	Moved     int    `json:"moved"`     // states that came
	MovedSize int    `json:"moved_size"`
}

type database struct{ *bbolt.DB }

func openDatabase(dir string, id int32) (database, meta, error) {
	// What the kernel has taken survives the process, which is what dies here; a real job
	// syncs.
	db, err := bbolt.Open(filepath.Join(dir, fmt.Sprintf("instance-%d.db", id)), 0o600,
		&bbolt.Options{NoSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return database{}, meta{}, err
	}
	m := meta{}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range [][]byte{keysBucket, incomingBucket, ballastBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucketIfNotExists(metaBucket)
		if err != nil {
			return err
		}
		if content := b.Get(metaBucket); content != nil {
			return json.Unmarshal(content, &m)
		}
		return nil
	})
	return database{db}, m, err
}

// states are the states of keys in a transaction.
type states struct{ tx *bbolt.Tx }

// get returns the state of a key that is active or kept.
func (s states) get(key string) (c count, as status, found bool, err error) {
	b := s.tx.Bucket(keysBucket).Get([]byte(key))
	if b == nil {
		return count{last: map[string]uint64{}}, active, false, nil
	}
	c, err = decodeCount(b[1:])
	return c, status(b[0]), true, err
}

func (s states) put(key string, c count, as status) error {
	return s.tx.Bucket(keysBucket).Put([]byte(key), append([]byte{byte(as)}, c.encode()...))
}

// incoming returns the provisional state of a key.
func (s states) incoming(key string) (c count, found bool, err error) {
	b := s.tx.Bucket(incomingBucket).Get([]byte(key))
	if b == nil {
		return count{}, false, nil
	}
	c, err = decodeCount(b)
	return c, true, err
}

func (s states) putIncoming(key string, c count) error {
	return s.tx.Bucket(incomingBucket).Put([]byte(key), c.encode())
}

// settle does with the state of a key what the end of a plan demands.
func (s states) settle(key string, do handoff.Do) error {
	switch do {
	case handoff.Drop:
		if err := s.tx.Bucket(incomingBucket).Delete([]byte(key)); err != nil {
			return err
		}
		if s.tx.Bucket(keysBucket).Get([]byte(key)) != nil {
			return nil
		}
		return s.tx.Bucket(ballastBucket).Delete([]byte(key))
	case handoff.Forget:
		if err := s.tx.Bucket(keysBucket).Delete([]byte(key)); err != nil {
			return err
		}
		if s.tx.Bucket(incomingBucket).Get([]byte(key)) != nil {
			return nil
		}
		return s.tx.Bucket(ballastBucket).Delete([]byte(key))
	case handoff.Activate:
		c, _, found, err := s.get(key)
		if err != nil || !found {
			return err
		}
		return s.put(key, c, active)
	}
	c, found, err := s.incoming(key)
	if err != nil || !found {
		return err
	}
	before, _, _, err := s.get(key)
	if err != nil {
		return err
	}
	c.join(before)
	if err := s.put(key, c, active); err != nil {
		return err
	}
	return s.tx.Bucket(incomingBucket).Delete([]byte(key))
}

func (s states) save(m meta) error {
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.tx.Bucket(metaBucket).Put(metaBucket, content)
}

// each visits all keys that are active or kept.
func (s states) each(visit func(key string, c count, as status) bool) error {
	cursor := s.tx.Bucket(keysBucket).Cursor()
	for k, v := cursor.First(); k != nil; k, v = cursor.Next() {
		c, err := decodeCount(v[1:])
		if err != nil {
			return err
		}
		if !visit(string(k), c, status(v[0])) {
			return nil
		}
	}
	return nil
}
