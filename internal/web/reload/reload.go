// Package reload keeps what was read of files up to date while the files change.
package reload

import (
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Value is what was read of some files. It may be used by many goroutines.
type Value[T any] struct {
	load    func() (T, error)
	files   []string
	current atomic.Pointer[T]

	mu   sync.Mutex
	seen []stamp
}

// stamp tells one state of a file from another.
type stamp struct {
	info    os.FileInfo // nil: it cannot be looked at
	changed time.Time
	size    int64
}

// New loads a value, which depends on the files.
func New[T any](load func() (T, error), files ...string) (*Value[T], error) {
	v := &Value[T]{load: load, files: files}
	err := v.reload(v.look())
	return v, err
}

// Get returns the value as it was loaded last.
func (v *Value[T]) Get() T { return *v.current.Load() }

// Refresh loads the value again if a file changed since the last time, or if it is
// forced to. When that fails the value stays as it is, until a file changes again.
func (v *Value[T]) Refresh(force bool) (loaded bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	// What changes while it is read counts as changed the next time.
	now := v.look()
	if !force && slices.EqualFunc(now, v.seen, stamp.equal) {
		return false, nil
	}
	err = v.reload(now)
	return err == nil, err
}

func (v *Value[T]) reload(now []stamp) error {
	v.seen = now
	value, err := v.load()
	if err != nil {
		return err
	}
	v.current.Store(&value)
	return nil
}

func (v *Value[T]) look() []stamp {
	stamps := make([]stamp, len(v.files))
	for i, name := range v.files {
		if info, err := os.Stat(name); err == nil {
			stamps[i] = stamp{info, info.ModTime(), info.Size()}
		}
	}
	return stamps
}

func (s stamp) equal(other stamp) bool {
	if s.info == nil || other.info == nil {
		return s.info == nil && other.info == nil
	}
	return s.changed.Equal(other.changed) && s.size == other.size && os.SameFile(s.info, other.info)
}

// Refresher is a Value of any type.
type Refresher interface {
	Refresh(force bool) (loaded bool, err error)
}

// Counts is how often something was loaded again, and how often that failed.
type Counts struct{ OK, Failed atomic.Int64 }

// All refreshes several values as one.
type All []Refresher

// Refresh implements Refresher.
func (a All) Refresh(force bool) (loaded bool, err error) {
	for _, r := range a {
		one, failed := r.Refresh(force)
		loaded, err = loaded || one, errors.Join(err, failed)
	}
	return loaded, err
}
