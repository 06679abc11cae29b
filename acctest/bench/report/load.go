package report

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// DescribeLoad says what the machine is and how busy it is. Without that, times
// mean nothing.
func DescribeLoad() string {
	text := fmt.Sprintf("%d CPUs, %s/%s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	average, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return text + ", load unknown"
	}
	words := strings.Fields(string(average))
	if len(words) == 0 {
		return text + ", load unknown"
	}
	return text + ", load " + words[0]
}
