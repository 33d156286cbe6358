package sqlite_test
import ("testing";"plannerd/store/storetest")
func TestScale(t *testing.T){ storetest.Scale(t,fresh) }
