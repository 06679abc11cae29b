package texttype

import (
	"fmt"
	"strings"
	"unicode"
)

// Image names an image of MAAS: "ubuntu/noble", or "noble" alone.
type Image = Value[image]

// ImageType is the type of Image.
var ImageType Type[image]

type image struct{}

func (image) name() string { return "Image" }

// equivalent follows engine.Image.MatchesName: a name without a slash matches every image that
// ends in it. "ubuntu/noble" and "custom/noble" are different images.
func (image) equivalent(a, b string) bool {
	return !strings.Contains(a, "/") && strings.HasSuffix(b, "/"+a) || !strings.Contains(b, "/") && strings.HasSuffix(a, "/"+b)
}

func (image) canonical(text string) string { return text }

func (image) problemOf(text string) string {
	parts := strings.Split(text, "/")
	wrong := len(parts) > 2
	for _, part := range parts {
		wrong = wrong || part == "" || strings.ContainsFunc(part, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	}
	if !wrong {
		return ""
	}
	return fmt.Sprintf(`%s is not the name of an image. Write it as MAAS lists it, such as "ubuntu/noble" or "custom/mine", or leave it out for MAAS's default.`, quoteShort(text))
}

// maxQuoted is how many characters of a text a message repeats.
const maxQuoted = 100

// quoteShort quotes a text for a message.
func quoteShort(text string) string {
	if len(text) > maxQuoted {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(text[:maxQuoted], ""))
	}
	return fmt.Sprintf("%q", text)
}
