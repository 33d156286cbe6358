package reload

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestValue: a value follows its files, and stays when they cannot be loaded.
func TestValue(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loads := 0
	load := func() (string, error) {
		loads++
		x, err := os.ReadFile(a)
		y, err2 := os.ReadFile(b)
		if err := errors.Join(err, err2); err != nil {
			return "", err
		}
		if string(x) == "bad" {
			return "", errors.New("it is bad")
		}
		return string(x) + string(y), nil
	}
	if _, err := New(load, a, b); err == nil {
		t.Error("a value of files that are not there")
	}
	write(a, "1")
	write(b, "2")
	v, err := New(load, a, b)
	if err != nil {
		t.Fatal(err)
	}
	loads = 0
	expect := func(what, want string, force, loaded, fails bool) {
		t.Helper()
		before := loads
		got, err := v.Refresh(force)
		if got != loaded || (err != nil) != fails || v.Get() != want || (loads > before) != (loaded || fails) {
			t.Errorf("%s: %q, loaded %t, %v, %d loads", what, v.Get(), got, err, loads-before)
		}
	}
	expect("nothing changed", "12", false, false, false)
	expect("forced", "12", true, true, false)
	write(b, "22")
	expect("another size", "122", false, true, false)
	write(a, "3")
	if err := os.Chtimes(a, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	expect("another time", "322", false, true, false)
	write(a, "bad")
	expect("bad", "322", false, false, true)
	expect("still bad", "322", false, false, false)
	expect("bad, forced", "322", true, false, true)
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	expect("gone", "322", false, false, true)
	expect("still gone", "322", false, false, false)
	other := filepath.Join(dir, "c")
	write(other, "4")
	if err := os.Rename(other, a); err != nil {
		t.Fatal(err)
	}
	expect("back", "422", false, true, false)
	if loaded, err := (All{v, v}).Refresh(true); !loaded || err != nil {
		t.Errorf("all: %t, %v", loaded, err)
	}
}
