use super::*;
use crate::oracle;

fn shape(rows: usize, cols: usize) -> Shape {
    Shape::new(rows, cols).unwrap()
}

#[test]
fn without_noise_the_image_is_the_closed_form() {
    for (rows, cols) in [(2, 2), (3, 5), (8, 7), (16, 33), (33, 16), (64, 100)] {
        let corner = Scatterer { row: rows - 1, col: cols - 1, amplitude: 2.5 };
        let first = Scatterer { row: 0, col: 0, amplitude: 0.5 };
        for scatterers in [vec![corner], vec![first], vec![first, corner, Scatterer { col: cols / 2, ..corner }]] {
            let scene = Scene::new(shape(rows, cols)).unwrap().with_scatterers(scatterers).unwrap();
            let echoes = scene.echoes().unwrap();
            let found = oracle::sar_image(&echoes).unwrap();
            for (found, known) in found.iter().zip(echoes.image().unwrap()) {
                assert!((found - f64::from(*known)).abs() < 1e-5, "{scene:?}: {found}, {known}");
            }
        }
    }
}

#[test]
fn a_scatterer_alone_is_brightest_in_its_cell_with_its_amplitude() {
    for (row, col) in [(0, 0), (31, 47), (16, 24), (5, 40)] {
        let scene = Scene::new(shape(32, 48)).unwrap();
        let scene = scene.with_scatterers(vec![Scatterer { row, col, amplitude: 3.0 }]).unwrap();
        let found = scene.brightest().unwrap();
        assert_eq!((found.peak_row, found.peak_col), (row, col));
        assert!((found.peak - 3.0).abs() < 1e-5, "{found:?}");
    }
}

#[test]
fn a_scene_is_the_same_every_time_and_its_noise_has_the_strength_asked_for() {
    let scene = Scene::new(shape(64, 64)).unwrap();
    let loud = scene.clone().with_noise(2.0).unwrap();
    let (quiet, noisy) = (scene.echoes().unwrap(), loud.echoes().unwrap());
    assert_eq!(noisy, loud.echoes().unwrap());
    assert_ne!(noisy.samples(), loud.with_seed(2).echoes().unwrap().samples());
    assert_eq!(noisy.image(), quiet.image());
    let power: f32 = noisy.samples().iter().zip(quiet.samples()).map(|(a, b)| (a - b).norm_sqr()).sum();
    let rms = (power / 4096.0).sqrt();
    assert!((rms - 2.0).abs() < 0.1, "{rms}");
}

#[test]
fn what_cannot_be_is_refused() {
    for (rows, cols) in [(1, 8), (8, 1)] {
        assert!(Scene::new(shape(rows, cols)).unwrap_err().to_string().contains("at least 2"));
    }
    let scene = Scene::new(shape(8, 9)).unwrap();
    let one = Scatterer { row: 7, col: 8, amplitude: 1.0 };
    for wrong in [
        Scatterer { row: 8, ..one },
        Scatterer { col: 9, ..one },
        Scatterer { amplitude: 0.0, ..one },
        Scatterer { amplitude: f64::NAN, ..one },
    ] {
        assert!(scene.clone().with_scatterers(vec![one, wrong]).unwrap_err().is_argument());
    }
    assert!(scene.clone().with_scatterers(vec![]).unwrap_err().is_argument());
    assert!(scene.clone().with_noise(-1.0).unwrap_err().is_argument());
    assert!(scene.clone().with_noise(1e200).unwrap().echoes().unwrap_err().is_argument());
    let huge = Scene::new(shape(1 << 28, 1 << 27)).unwrap();
    assert!(matches!(huge.echoes(), Err(Error::Memory { .. })));
    let echoes = scene.echoes().unwrap();
    assert!(echoes.clone().with_image(vec![0.0; 71]).unwrap_err().is_argument());
    assert!(echoes.with_image(vec![f32::NAN; 72]).unwrap_err().is_argument());
    assert!(Echoes::new(shape(2, 2), vec![Complex32::new(f32::INFINITY, 0.0); 4]).unwrap_err().is_argument());
}
