package main

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ticksPerSecond is how many clock ticks /proc/stat counts in a second
// (USER_HZ).
const ticksPerSecond = 100

// cpuTimes is the CPU time so far: of all CPUs, and of this program and its
// children that have ended.
type cpuTimes struct{ all, ours time.Duration }

// readCPUTimes reads both. It returns an error where there is no /proc/stat.
func readCPUTimes() (cpuTimes, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}, err
	}
	all, err := parseBusyTime(string(text))
	if err != nil {
		return cpuTimes{}, err
	}
	ours := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if err := syscall.Getrusage(who, &used); err != nil {
			return cpuTimes{}, err
		}
		ours += time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	return cpuTimes{all: all, ours: ours}, nil
}

// parseBusyTime sums up the first line of /proc/stat: user, nice, system, idle,
// iowait, irq, softirq and steal. Stolen time is busy, too: other guests of the
// hypervisor used it.
func parseBusyTime(stat string) (time.Duration, error) {
	line, _, _ := strings.Cut(stat, "\n")
	words := strings.Fields(line)
	if len(words) < 9 || words[0] != "cpu" {
		return 0, errors.New("/proc/stat does not begin with a line of cpu")
	}
	sum := int64(0)
	for i, word := range words[1:9] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, err
		}
		if i != 3 && i != 4 {
			sum += n
		}
	}
	return time.Duration(sum) * time.Second / ticksPerSecond, nil
}

// shareOfOthers is the share of all CPU time, from 0 to 1, that other programs
// used.
func (p cpuTimes) shareOfOthers(until cpuTimes, wall time.Duration) float64 {
	used := (until.all - p.all) - (until.ours - p.ours)
	return max(0, used.Seconds()/(wall.Seconds()*float64(runtime.NumCPU())))
}
