//! Colours of pages, in a light and a dark scheme, and of figures.

/// Style sheet with the colours.
pub const STYLE: &str = include_str!("page/colours.css");

/// Number of curve colours, after which they repeat.
pub const CURVES: usize = 5;

/// Colour as red, green and blue.
pub type Rgb = (u8, u8, u8);

/// Returns the colours of curves on white, in order.
pub fn curves() -> [Rgb; CURVES] {
    numbered("c")
}

/// Returns the colour scale of utilization on white, from 0.
pub fn scale() -> [Rgb; 5] {
    numbered("u")
}

fn numbered<const N: usize>(kind: &str) -> [Rgb; N] {
    let light = STYLE.split("@media").next().unwrap_or_default();
    std::array::from_fn(|i| named(light, &format!("{kind}{i}")).unwrap_or_default())
}

/// Returns the colour with this name in a style sheet.
fn named(style: &str, name: &str) -> Option<Rgb> {
    let (_, rest) = style.split_once(&format!("--{name}: #"))?;
    let part = |at: usize| u8::from_str_radix(rest.get(at..at + 2)?, 16).ok();
    Some((part(0)?, part(2)?, part(4)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Matrices of colour vision deficiencies in linear RGB (Machado, Oliveira and Fernandes 2009, complete
    /// deficiency), and of normal vision.
    const VISION_TYPES: [(&str, [[f64; 3]; 3]); 4] = [
        (
            "all cones",
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    fn linear((r, g, b): Rgb) -> [f64; 3] {
        [r, g, b].map(|part| match f64::from(part) / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        })
    }

    fn times(matrix: [[f64; 3]; 3], of: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum())
    }

    /// Returns the colour in Oklab, a perceptually uniform space in which black and white have a distance of
    /// 1.
    fn perceived_oklab(colour: Rgb, eyes: [[f64; 3]; 3]) -> [f64; 3] {
        let linear = times(eyes, linear(colour)).map(|part| part.clamp(0.0, 1.0));
        let cones = [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ];
        let lab = [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ];
        times(lab, times(cones, linear).map(f64::cbrt))
    }

    fn perceptual_distance(a: Rgb, b: Rgb, eyes: [[f64; 3]; 3]) -> f64 {
        let (a, b) = (perceived_oklab(a, eyes), perceived_oklab(b, eyes));
        let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// Returns the contrast ratio of WCAG 2.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let luminance = |colour| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05
        };
        let (a, b) = (luminance(a), luminance(b));
        f64::max(a, b) / f64::min(a, b)
    }

    /// Returns the colours of the light and the dark scheme. The dark scheme inherits colours that it does
    /// not define.
    fn schemes() -> [(&'static str, impl Fn(&str) -> Rgb); 2] {
        let (light, dark) = STYLE.split_once("@media").unwrap();
        let of = |first: &'static str| {
            move |name: &str| named(first, name).or_else(|| named(light, name)).unwrap()
        };
        [("light", of(light)), ("dark", of(dark))]
    }

    #[test]
    fn colours_are_distinct_for_all_vision_types() {
        for (scheme, colour) in schemes() {
            for (eyes, matrix) in VISION_TYPES {
                for (kind, many, least) in [("c", CURVES, 0.1), ("u", 5, 0.09)] {
                    for (i, j) in (0..many).flat_map(|i| (0..i).map(move |j| (i, j))) {
                        let name = |i| format!("{kind}{i}");
                        let apart = perceptual_distance(colour(&name(i)), colour(&name(j)), matrix);
                        assert!(
                            apart >= least,
                            "{scheme}, {eyes}: {} and {} are {apart:.3} apart",
                            name(i),
                            name(j)
                        );
                    }
                }
            }
        }
        // Checks the metric itself: red and green are similar in deuteranopia.
        let (red, green) = ((190, 60, 40), (110, 110, 20));
        assert!(perceptual_distance(red, green, VISION_TYPES[0].1) > 0.15);
        assert!(perceptual_distance(red, green, VISION_TYPES[2].1) < 0.06);
    }

    /// WCAG AA: 4.5 for text, 3 for graphics.
    #[test]
    fn text_and_lines_have_contrast() {
        assert!((contrast((0, 0, 0), (255, 255, 255)) - 21.0).abs() < 1e-9);
        let text = [
            ("ink", "back"),
            ("ink", "card"),
            ("ink", "mark"),
            ("soft", "back"),
            ("soft", "card"),
            ("warn", "warn-back"),
            ("warn", "card"),
            ("card", "accent"),
        ];
        let drawn = ["accent", "lit", "hot", "node", "c0", "c1", "c2", "c3", "c4"];
        let drawn = drawn.map(|name| (name, "card"));
        for (scheme, colour) in schemes() {
            let least = |pairs: &[(&str, &str)], least: f64| {
                for (a, b) in pairs {
                    let contrast = contrast(colour(a), colour(b));
                    assert!(contrast >= least, "{scheme}: {a} on {b}: {contrast:.2}");
                }
            };
            least(&text, 4.5);
            least(&drawn, 3.0);
        }
    }
}
