package lxd

import (
	"testing"
	"time"
)

// TestFloorStays: after expireAll, a Refresh must not make an older inventory valid again.
func TestFloorStays(t *testing.T) {
	t0 := time.Now()
	f := &inventoryCache{}
	h := serverSurvey{Server: Server{MachineID: "m1"}, askedAt: t0.Add(-500 * time.Millisecond)}
	f.expireAll(t0) // what is removed next depends on what is there now
	if f.isCurrent(h, t0) {
		t.Fatal("anew serves what is old")
	}
	f.expire(t0.Add(100*time.Millisecond), rereadAfter) // somebody else's Refresh
	if f.isCurrent(h, t0.Add(100*time.Millisecond)) {
		t.Error("a Refresh made an inventory serve again that anew had dropped")
	}
}
