package score

import "math"

// normal returns Φ(z), the probability that a standard normal variable is below z.
func normal(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// logNormalScaled returns ln Φ(z) + z²/2. For z below 0 it computes ln(erfcx(−z/√2)/2), which stays
// finite far below z = −38, where Φ underflows.
func logNormalScaled(z float64) float64 {
	if z >= 0 {
		return math.Log(normal(z)) + z*z/2
	}
	return math.Log(scaledErfc(-z/math.Sqrt2) / 2)
}

// scaledErfc returns erfcx(x) = exp(x²) · erfc(x) for x ≥ 0 (Cody 1969). From x = 10 on, it uses
// the asymptotic series 1/(x√π) · (1 − 1/(2x²) + 3/(4x⁴) − …). The terms after the ninth are below
// the precision of a float64 there.
func scaledErfc(x float64) float64 {
	if x < 10 {
		return math.Exp(x*x) * math.Erfc(x)
	}
	term, sum := 1., 1.
	for k := range 10 {
		term *= -float64(2*k+1) / (2 * x * x)
		sum += term
	}
	return sum / (x * math.Sqrt(math.Pi))
}
