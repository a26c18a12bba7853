// Package components holds the small parts of pages: numbers and times in words, badges, filters,
// and charts drawn as SVG. Charts stretch with the page and keep their text legible. For this,
// horizontal positions are percentages of the drawing and vertical ones are pixels. Lines with many
// points are in an inner drawing that may be distorted. Every chart has its numbers beside it, in
// words or in a table.
package components
