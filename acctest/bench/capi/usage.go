package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is how many clock ticks /proc counts in a second (USER_HZ).
const ticksPerSecond = 100

// usage is what a process has used so far.
type usage struct {
	CPU             time.Duration // user and system
	RSSKiB, PeakKiB int64         // resident memory now, and its peak
}

// usageOf reads /proc, which only Linux has.
func usageOf(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	return readUsage(string(stat), string(status))
}

// readUsage reads fields 14 and 15 of stat, which follow the program's name in
// parentheses, and two lines of status.
func readUsage(stat, status string) (usage, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return usage{}, errors.New("/proc/PID/stat is shorter than it should be")
	}
	u := usage{}
	for _, text := range fields[11:13] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return u, err
		}
		u.CPU += time.Duration(n) * time.Second / ticksPerSecond
	}
	for line := range strings.Lines(status) {
		name, rest, _ := strings.Cut(line, ":")
		into := map[string]*int64{"VmRSS": &u.RSSKiB, "VmHWM": &u.PeakKiB}[name]
		if into == nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return u, err
		}
		*into = n
	}
	return u, nil
}
