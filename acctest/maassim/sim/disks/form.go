package disks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/request"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
)

// form reads the fields of a call as MAAS's forms do.
type form struct {
	*request.Call
	errs rest.FormErrors
}

func newForm(c *request.Call) form { return form{c, rest.FormErrors{}} }

// errorReply is 400 with the form's errors, or nil without errors.
func (f form) errorReply() *rest.Reply {
	if len(f.errs) == 0 {
		return nil
	}
	bad := rest.BadFormReply(f.errs)
	return &bad
}

var bytesText = regexp.MustCompile(`^-?[0-9]+[KkMmGgTtPpEe]?$`)

// sizeOf reads a number of bytes with a decimal unit (utils/converters.py,
// machine_readable_bytes).
func sizeOf(text string) (int64, bool) {
	if !bytesText.MatchString(text) {
		return 0, false
	}
	factor := int64(1)
	if i := strings.IndexByte("KMGTPE", strings.ToUpper(text)[len(text)-1]); i >= 0 {
		text = text[:len(text)-1]
		for range i + 1 {
			factor *= 1000
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n * factor, err == nil
}

// readSize reads a size. It is nil if none was given.
func (f form) readSize(field string, required bool) *int64 {
	text := strings.TrimSpace(f.Field(field))
	if text == "" {
		if required {
			f.errs.Add(field, rest.MsgRequired)
		}
		return nil
	}
	n, isSize := sizeOf(text)
	if !isSize {
		f.errs.Add(field, rest.MsgInvalid)
		return nil
	}
	return &n
}

// checkSizeBounds refuses a size out of bounds.
func (f form) checkSizeBounds(field string, size *int64, least, most int64) {
	switch {
	case size == nil:
	case *size < least:
		f.errs.Add(field, atLeast(least))
	case *size > most:
		f.errs.Add(field, fmt.Sprintf("Ensure this value is less than or equal to %d.", most))
	}
}

func atLeast(n int64) string {
	return fmt.Sprintf("Ensure this value is greater than or equal to %d.", n)
}

var uuid4 = regexp.MustCompile(`^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?4[0-9a-fA-F]{3}-?[89abAB][0-9a-fA-F]{3}-?[0-9a-fA-F]{12}`)

// readUUID reads a UUID of version 4.
func (f form) readUUID() string {
	text := strings.TrimSpace(f.Field("uuid"))
	if text == "" {
		return ""
	}
	if !uuid4.MatchString(text) {
		f.errs.Add("uuid", rest.MsgInvalid)
	}
	f.checkLength("uuid", text, 32, 36)
	return text
}

func (f form) checkLength(field, text string, least, most int) {
	n := utf8.RuneCountInString(text)
	if n < least {
		f.errs.Add(field, fmt.Sprintf("Ensure this value has at least %d characters (it has %d).", least, n))
	}
	if n > most {
		f.errs.Add(field, fmt.Sprintf("Ensure this value has at most %d characters (it has %d).", most, n))
	}
}

// readPath reads an absolute path.
func (f form) readPath(field string, required bool) string {
	text := strings.TrimSpace(f.Field(field))
	switch {
	case text == "" && required:
		f.errs.Add(field, rest.MsgRequired)
	case text != "" && !strings.HasPrefix(text, "/"):
		f.errs.Add(field, rest.MsgInvalid)
	}
	f.checkLength(field, text, 0, 4095)
	return text
}

// readText reads a text.
func (f form) readText(field string, required bool) string {
	text := strings.TrimSpace(f.Field(field))
	if text == "" && required {
		f.errs.Add(field, rest.MsgRequired)
	}
	return text
}

// readChoice reads a text that must be one of the choices.
func (f form) readChoice(field string, required bool, choices ...string) string {
	text := f.Field(field)
	if text == "" {
		if required {
			f.errs.Add(field, rest.MsgRequired)
		}
		return ""
	}
	for _, choice := range choices {
		if choice == text {
			return text
		}
	}
	f.errs.Add(field, rest.ChoiceProblem(text))
	return ""
}

// readCheckbox reads a checkbox as Django does: every text but those listed here is true.
func (f form) readCheckbox(field string) bool {
	switch strings.ToLower(f.Field(field)) {
	case "", "false", "0":
		return false
	}
	return true
}
