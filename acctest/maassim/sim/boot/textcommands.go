package boot

import (
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"
)

func (c *command) cat() error {
	text, err := c.readInput(c.args)
	c.print(text)
	return err
}

func (c *command) tee() error {
	text := c.stdin()
	for _, name := range c.args {
		c.shell.lxd.files[path.Clean(name)] = text
	}
	c.print(text)
	return nil
}

// grep supports the patterns that mean the same in Go.
func (c *command) grep() error {
	flags, args := splitFlags(c.args)
	if len(args) == 0 {
		return errors.New("grep: no pattern")
	}
	pattern := args[0]
	has := func(letter string) bool {
		for name := range flags {
			if !strings.HasPrefix(name, "--") && strings.Contains(name, letter) {
				return true
			}
		}
		return false
	}
	if has("F") {
		pattern = regexp.QuoteMeta(pattern)
	}
	if has("i") {
		pattern = "(?i)" + pattern
	}
	if has("x") {
		pattern = "^(?:" + pattern + ")$"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	text, err := c.readInput(args[1:])
	found := errFalse
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if re.MatchString(line) == has("v") {
			continue
		}
		found = nil
		if !has("q") {
			c.print(line + "\n")
		}
	}
	return errors.Join(err, found)
}

func (c *command) awk() error {
	if len(c.args) == 0 {
		return nil
	}
	found := awkColumn.FindStringSubmatch(c.args[0])
	text, err := c.readInput(c.args[1:])
	if err != nil || found == nil {
		return err
	}
	after, _ := strconv.Atoi(found[1]) // 0 without a match
	column, _ := strconv.Atoi(found[2])
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fields := strings.Fields(line)
		switch {
		case i < after:
		case column == 0:
			c.print(line + "\n")
		case column > len(fields):
			c.print("\n")
		default:
			c.print(fields[column-1] + "\n")
		}
	}
	return nil
}
