package main

import (
	"strings"
	"testing"
	"time"
)

func TestBusyTime(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, stat string
		want         time.Duration
		err          string
	}{
		"AllKinds": {"Idle CPUs and ones that wait for a disk have time.", "cpu  100 20 30 5000 600 4 5 6 70 8\ncpu0 1\n", 1650 * time.Millisecond, ""},
		"Foreign":  {"A file of another system has no CPU times.", "intr 1 2 3", 0, "/proc/stat"},
		"Garbled":  {"Nor does a line without numbers.", "cpu a b c d e f g h", 0, "invalid syntax"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseBusyTime(tc.stat)
			if got != tc.want || !strings.Contains(textOf(err), tc.err) || (err == nil) != (tc.err == "") {
				t.Errorf("%s\ngot %v, %v, want %v, %q", tc.reason, got, err, tc.want, tc.err)
			}
		})
	}
}

func TestOtherProcessesTime(t *testing.T) {
	t.Parallel()
	before := cpuTimes{all: 10 * time.Second, ours: 2 * time.Second}
	if got := before.shareOfOthers(cpuTimes{all: 14 * time.Second, ours: 6 * time.Second}, time.Second); got != 0 {
		t.Errorf("all was ours, and others used %v", got)
	}
	if got := before.shareOfOthers(before, time.Second); got != 0 {
		t.Errorf("nothing was used, and others used %v", got)
	}
	if got := before.shareOfOthers(cpuTimes{all: 1 << 40, ours: 2 * time.Second}, time.Second); got <= 0 {
		t.Errorf("nothing was ours, and others used %v", got)
	}
}
