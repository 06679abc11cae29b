package setting

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Settings are the settings of one command. Each has a flag and perhaps a
// variable of the environment. The flag wins. An empty variable counts as
// unset.
type Settings struct {
	program Program
	about   string
	all     []*entry
}

// entry is one setting.
type entry struct {
	name, env string
	usage     string
	fallback  string // for the help text
	isSwitch  bool   // takes no value
	set       func(text string) error
	reset     func() // called before the first flag replaces the variable's value
}

// New makes the settings of a command. about describes the command in a few
// lines.
func New(p Program, about string) *Settings { return &Settings{program: p, about: about} }

// AddText adds a setting whose text is taken as it is.
func (s *Settings) AddText(to *string, name, env, fallback, usage string) {
	*to = fallback
	s.addEntry(&entry{name: name, env: env, usage: usage, fallback: fallback, set: func(text string) error { *to = text; return nil }})
}

// AddNonEmptyText adds a text whose flag must have a value. An unset variable of a shell makes it
// empty, and the command would do something else than what was meant.
func (s *Settings) AddNonEmptyText(to *string, name, usage string) {
	s.addEntry(&entry{name: name, usage: usage, set: func(text string) error {
		if *to = text; text == "" {
			return errors.New("it is empty")
		}
		return nil
	}})
}

// AddTexts adds a text that can be given several times. In the variable, commas
// separate the values.
func (s *Settings) AddTexts(to *[]string, name, env, usage string) {
	inFlags := false
	s.addEntry(&entry{name: name, env: env, usage: usage, reset: func() { *to, inFlags = nil, true }, set: func(text string) error {
		if inFlags {
			*to = append(*to, text)
			return nil
		}
		*to = strings.Split(text, ",")
		return nil
	}})
}

// AddNumber adds a whole number.
func (s *Settings) AddNumber(to *int64, name, env string, fallback int64, usage string) {
	*to = fallback
	e := &entry{name: name, env: env, usage: usage, set: func(text string) (err error) {
		if *to, err = strconv.ParseInt(text, 10, 64); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		return nil
	}}
	if fallback != 0 {
		e.fallback = strconv.FormatInt(fallback, 10)
	}
	s.addEntry(e)
}

// AddDuration adds a duration like "30s".
func (s *Settings) AddDuration(to *time.Duration, name, env string, fallback time.Duration, usage string) {
	*to = fallback
	e := &entry{name: name, env: env, usage: usage, set: func(text string) (err error) {
		if *to, err = time.ParseDuration(text); err != nil || *to < 0 {
			return fmt.Errorf("%q is not a time such as 30s or 10m", text)
		}
		return nil
	}}
	if fallback != 0 {
		e.fallback = fallback.String()
	}
	s.addEntry(e)
}

// AddTimeout adds the setting for how long a command may take.
func (s *Settings) AddTimeout(to *time.Duration, fallback time.Duration) {
	s.AddDuration(to, "timeout", "TIMEOUT", fallback, "how long the command may take")
	e := s.all[len(s.all)-1]
	span := e.set
	e.set = func(text string) error {
		err := span(text)
		if err == nil && *to == 0 {
			err = errors.New("it must be more than 0")
		}
		return err
	}
}

// AddSwitch adds a setting that is on or off: the flag alone, or a variable
// that is true or false.
func (s *Settings) AddSwitch(to *bool, name, env, usage string) {
	s.addEntry(&entry{name: name, env: env, usage: usage, isSwitch: true, set: func(text string) (err error) {
		if *to, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		return nil
	}})
}

// AddPEM adds a setting that is PEM text, or the path of a file with PEM text.
func (s *Settings) AddPEM(to *string, name, env, usage string) {
	s.addEntry(&entry{name: name, env: env, usage: usage, set: func(text string) (err error) {
		*to, err = readPEM(text)
		return err
	}})
}

// AddPEMs adds an AddPEM setting that can be given several times.
func (s *Settings) AddPEMs(to *[]string, name, env, usage string) {
	s.addEntry(&entry{name: name, env: env, usage: usage, reset: func() { *to = nil }, set: func(text string) error {
		pem, err := readPEM(text)
		*to = append(*to, pem)
		return err
	}})
}

// readPEM returns the PEM text. Its error never repeats the value, which may be
// part of a key.
func readPEM(text string) (string, error) {
	if strings.Contains(text, "-----BEGIN") {
		return text, nil
	}
	data, err := os.ReadFile(text)
	if err != nil {
		return "", errors.New("it is neither PEM text nor the path of a file that can be read")
	}
	return string(data), nil
}

func (s *Settings) addEntry(e *entry) { s.all = append(s.all, e) }

// ListVariables lists the names of the variables that Read uses.
func (s *Settings) ListVariables() []string {
	var names []string
	for _, e := range s.all {
		if e.env != "" {
			names = append(names, e.env)
		}
	}
	return names
}

// ReadArgs is Read for a command that has used some of its arguments itself.
// args are the others.
func (s *Settings) ReadArgs(args []string) error {
	s.program.Args = args
	return s.Read()
}

// Read reads the environment and then the arguments. It prints help on demand
// and then returns flag.ErrHelp. An invalid value is a *UsageError.
func (s *Settings) Read() error {
	for _, e := range s.all {
		value := ""
		if e.env != "" {
			value = s.program.Getenv(e.env)
		}
		if value == "" {
			continue
		}
		if err := e.set(value); err != nil {
			return &UsageError{Flag: e.env, Text: err.Error(), Hint: e.usage}
		}
	}
	return s.readFlags()
}

func (s *Settings) readFlags() error {
	flags := flag.NewFlagSet(s.program.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	var wrong *UsageError
	for _, e := range s.all {
		set := func(text string) error {
			if e.reset != nil {
				e.reset()
				e.reset = nil
			}
			if err := e.set(text); err != nil {
				wrong = &UsageError{Flag: "--" + e.name, Text: err.Error(), Hint: e.usage}
				return err
			}
			return nil
		}
		if e.isSwitch {
			flags.BoolFunc(e.name, e.usage, set)
		} else {
			flags.Func(e.name, e.usage, set)
		}
	}
	err := flags.Parse(s.program.Args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		s.help(s.program.Stdout)
		return err
	case wrong != nil:
		return wrong
	case err != nil:
		return &UsageError{Text: err.Error(), Hint: s.program.Name + " -h lists the flags"}
	case flags.NArg() > 0:
		return &UsageError{Text: fmt.Sprintf("%q is not a flag, and %s takes only flags", flags.Arg(0), s.program.Name), Hint: s.program.Name + " -h lists the flags"}
	}
	return nil
}

// help prints all settings with their variables.
func (s *Settings) help(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nFlags, with the variables that stand in for them:\n", strings.TrimSpace(s.about))
	for _, e := range s.all {
		fmt.Fprintf(w, "  --%s", e.name)
		if e.env != "" {
			fmt.Fprintf(w, ", %s", e.env)
		}
		fmt.Fprintf(w, "\n      %s", e.usage)
		if e.fallback != "" {
			fmt.Fprintf(w, " (default %s)", e.fallback)
		}
		fmt.Fprintln(w)
	}
}
