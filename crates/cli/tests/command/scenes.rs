//! Synthetic scenes: the default one, and those that `rimms scene` writes and `--input` reads.

use super::{json, rimms};
use rimms_radar::{input, oracle};

#[test]
fn the_default_scene_equals_its_truth() {
    for style in ["paper", "best"] {
        let result = &json(&["run", "pulse-doppler", "--json", "--style", style])["result"];
        let truth = rimms_radar::scene::Scene::default().truth().detection;
        assert_eq!(result["doppler_hz"], truth.doppler_hz);
        assert_eq!(result["delay_s"], truth.delay_s);
        assert_eq!((&result["peak_row"], &result["peak_col"]), (&truth.peak_row.into(), &truth.peak_col.into()));
    }
}

#[test]
fn another_shape_and_interval() {
    let result = &json(&["run", "pulse-doppler", "--json", "--shape", "30x50", "--pri", "2e-3"])["result"];
    assert!(result["max_error"].as_f64().unwrap() < 0.05, "{result}");
}

#[test]
fn written_scenes_are_read_and_agree_with_the_oracle() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, (shape, pri, targets, noise)) in [
        ("128x64", "1.27e-4", None, "0.1"),
        ("128x64", "1.27e-4", Some("3.83e-5:62:1"), "0.5"),
        ("20x120", "1e-3", Some("1e-4:10:2,5e-4:-12:1"), "0.2"),
        ("2x2", "1", None, "0"),
        ("33x17", "1e-6", None, "1"),
        ("64x256", "1e-4", Some("0:0:0.5"), "0.3"),
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(seed.to_string());
        let path = path.to_str().unwrap();
        let seed = seed.to_string();
        let mut args =
            vec!["scene", "--shape", shape, "--pri", pri, "--noise", noise, "--seed", &seed, "--output", path];
        args.extend(targets.iter().flat_map(|targets| ["--targets", targets]));
        let done = rimms(&args);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(done.stdout.contains("truth: Doppler"), "{done:?}");

        let recording = input::open(path, None, None).unwrap();
        assert_eq!(recording.geometry().pri_s(), pri.parse::<f64>().unwrap());
        let peak = oracle::range_doppler(&recording).unwrap().peak();
        for on in ["cpu", "acc"] {
            for style in ["paper", "best"] {
                let args = ["run", "pulse-doppler", "--json", "--input", path, "--on", on, "--style", style];
                let result = &json(&args)["result"];
                let found = (&result["peak_row"], &result["peak_col"]);
                assert_eq!(found, (&peak.peak_row.into(), &peak.peak_col.into()), "{args:?}");
                let relative = result["magnitude"].as_f64().unwrap() / peak.magnitude - 1.0;
                assert!(relative.abs() < 1e-4, "{args:?}: {result}");
                assert!(result["max_error"].is_f64(), "a scene brings its truth along");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_files() {
    let folder = tempfile::tempdir().unwrap();
    let written = ["a", "b"].map(|name| {
        let path = folder.path().join(name);
        let done = rimms(["scene".as_ref(), "-o".as_ref(), path.as_os_str()]);
        assert_eq!(done.code, Some(0));
        ["pulses.npy", "pulse.npy", "truth.json"].map(|file| std::fs::read(path.join(file)).unwrap())
    });
    assert_eq!(written[0], written[1]);
}
